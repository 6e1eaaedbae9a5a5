//lint:file-ignore SA1019 Kubernetes still serves the deprecated Endpoints

package endpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/backend"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// portAddresses is a port and the addresses that serve it.
type portAddresses struct {
	port      corev1.EndpointPort
	addresses []address
}

// address is an address of a pod, and whether it is ready.
type address struct {
	corev1.EndpointAddress
	ready bool
}

// subsets returns the addresses and ports of a service's pods, in a deterministic order. Ports with equal
// addresses share a subset.
func subsets(service *corev1.Service, all []*corev1.Pod) (result []corev1.EndpointSubset) {
	bySet := map[string]*corev1.EndpointSubset{}
	for _, r := range ports(service, all) {
		slices.SortFunc(r.addresses, func(a, b address) int {
			return cmp.Or(cmp.Compare(a.IP, b.IP), cmp.Compare(a.TargetRef.UID, b.TargetRef.UID))
		})
		key := addressesKey(r.addresses)
		subset := bySet[key]
		if subset == nil {
			subset = &corev1.EndpointSubset{}
			for _, a := range r.addresses {
				if a.ready {
					subset.Addresses = append(subset.Addresses, a.EndpointAddress)
				} else {
					subset.NotReadyAddresses = append(subset.NotReadyAddresses, a.EndpointAddress)
				}
			}
			bySet[key] = subset
		}
		if r.port.Port > 0 {
			subset.Ports = append(subset.Ports, r.port)
		}
	}
	for _, subset := range bySet {
		slices.SortFunc(subset.Ports, comparePorts)
		result = append(result, *subset)
	}
	slices.SortFunc(result, func(a, b corev1.EndpointSubset) int {
		return slices.CompareFunc(a.Ports, b.Ports, comparePorts)
	})
	return result
}

func comparePorts(a, b corev1.EndpointPort) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
}

// addressesKey returns a key that is equal for equal addresses.
func addressesKey(list []address) string {
	var key strings.Builder
	for _, a := range list {
		fmt.Fprintf(&key, "%s %s;", a.IP, a.TargetRef.UID)
	}
	return key.String()
}

// ports returns the service's ports by their numbers in the pods, of which a named port may have several. For
// a headless service without ports, the addresses have the zero port.
func ports(service *corev1.Service, all []*corev1.Pod) (found []*portAddresses) {
	add := func(port corev1.EndpointPort, at address) {
		for _, r := range found {
			if comparePorts(r.port, port) == 0 {
				r.addresses = append(r.addresses, at)
				return
			}
		}
		found = append(found, &portAddresses{port, []address{at}})
	}
	for _, pod := range all {
		at, ok := addressOf(service, pod)
		if !ok {
			continue
		}
		if len(service.Spec.Ports) == 0 && backend.IsHeadless(service) {
			add(corev1.EndpointPort{}, at)
		}
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			if number, ok := backend.Port(pod, port); ok {
				add(corev1.EndpointPort{Name: port.Name, Port: number, Protocol: port.Protocol,
					AppProtocol: port.AppProtocol}, at)
			}
		}
	}
	return found
}

// addressOf returns a pod's address in the service's first IP family. It returns none for a terminating pod,
// unless the service publishes addresses that are not ready, and none for an unscheduled pod.
func addressOf(service *corev1.Service, pod *corev1.Pod) (a address, ok bool) {
	notReady := service.Spec.PublishNotReadyAddresses
	if !backend.Reachable(pod) || pod.DeletionTimestamp != nil && !notReady || pod.Spec.NodeName == "" {
		return a, false
	}
	addresses := backend.Addresses(pod, backend.Families(service)[0])
	if len(addresses) == 0 {
		return a, false
	}
	return address{corev1.EndpointAddress{
		IP: addresses[0], NodeName: &pod.Spec.NodeName, Hostname: backend.Hostname(pod, service),
		TargetRef: backend.TargetRef(pod),
	}, notReady || pods.IsReady(pod)}, true
}

// maxAddresses limits the addresses of one Endpoints object. Larger services need EndpointSlices.
const maxAddresses = 1000

// truncate drops excess addresses, those that are not ready first, and proportionally from each subset. It
// removes subsets that are left empty.
func truncate(all []corev1.EndpointSubset) (result []corev1.EndpointSubset, truncated bool) {
	ready, notReady := 0, 0
	for _, subset := range all {
		ready += len(subset.Addresses)
		notReady += len(subset.NotReadyAddresses)
	}
	if ready+notReady <= maxAddresses {
		return all, false
	}
	room, whole := maxAddresses-ready, notReady
	if ready > maxAddresses {
		room, whole = maxAddresses, ready
	}
	left := room
	for i := range all {
		subset := &all[i]
		if ready > maxAddresses {
			subset.NotReadyAddresses = nil
			subset.Addresses, left = part(subset.Addresses, whole, room, left)
		} else {
			subset.NotReadyAddresses, left = part(subset.NotReadyAddresses, whole, room, left)
		}
	}
	return slices.DeleteFunc(all, func(s corev1.EndpointSubset) bool {
		return len(s.Addresses)+len(s.NotReadyAddresses) == 0
	}), true
}

// part returns the first room/whole of the addresses, rounded up, but at most left.
func part(addresses []corev1.EndpointAddress, whole, room, left int) (retained []corev1.EndpointAddress, rest int) {
	n := min((len(addresses)*room+whole-1)/whole, left, len(addresses))
	return addresses[:n], left - n
}
