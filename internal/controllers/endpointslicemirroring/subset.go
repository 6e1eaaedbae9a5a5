//lint:file-ignore SA1019 Kubernetes still serves the deprecated Endpoints

package endpointslicemirroring

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/backend"
)

// maxAddresses limits the addresses of a subset that are mirrored. One slice has room for them.
const maxAddresses = 1000

// group is the desired content of one slice: the endpoints of a subset that have addresses of one family.
type group struct {
	family    discoveryv1.AddressType
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
}

// fits reports whether a slice has the family and the ports of the group.
func (g group) fits(slice *discoveryv1.EndpointSlice) bool {
	return slice.AddressType == g.family && backend.PortsKey(slice.Ports) == backend.PortsKey(g.ports)
}

// groups returns the groups of all subsets that have endpoints, and the numbers of addresses that are invalid, and that
// are skipped because they are invalid or too many. Ready addresses are mirrored before those that are not ready.
func groups(all []corev1.EndpointSubset) (found []group, invalid, skipped int) {
	for _, s := range repack(all) {
		byFamily := map[discoveryv1.AddressType]*endpointSet{
			discoveryv1.AddressTypeIPv4: {}, discoveryv1.AddressTypeIPv6: {},
		}
		mirrored := 0
		for _, a := range s.addresses {
			if mirrored == maxAddresses {
				break
			}
			if e, family, ok := endpoint(a); ok {
				byFamily[family].add(e)
				mirrored++
			} else {
				invalid++
			}
		}
		skipped += len(s.addresses) - mirrored
		for _, family := range slices.Sorted(maps.Keys(byFamily)) {
			if endpoints := byFamily[family].endpoints; len(endpoints) > 0 {
				found = append(found, group{family, s.ports, endpoints})
			}
		}
	}
	return found, invalid, skipped
}

// endpointSet has one endpoint for each key.
type endpointSet struct {
	endpoints []discoveryv1.Endpoint
	byKey     map[string]int
}

// add adds an endpoint, or replaces the one with its key.
func (s *endpointSet) add(e discoveryv1.Endpoint) {
	key := backend.EndpointKey(&e)
	if i, exists := s.byKey[key]; exists {
		s.endpoints[i] = e
		return
	}
	if s.byKey == nil {
		s.byKey = map[string]int{}
	}
	s.byKey[key] = len(s.endpoints)
	s.endpoints = append(s.endpoints, e)
}

// endpoint returns the endpoint of an address and its family. It returns none for an invalid address.
func endpoint(a address) (e discoveryv1.Endpoint, family discoveryv1.AddressType, ok bool) {
	ip := netutils.ParseIPSloppy(a.IP)
	if ip == nil {
		return e, "", false
	}
	family = discoveryv1.AddressTypeIPv4
	if netutils.IsIPv6(ip) {
		family = discoveryv1.AddressTypeIPv6
	}
	e = discoveryv1.Endpoint{
		Addresses: []string{ip.String()}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(a.ready)},
		TargetRef: a.TargetRef, NodeName: a.NodeName,
	}
	if a.Hostname != "" {
		e.Hostname = ptr.To(a.Hostname)
	}
	return e, family, true
}

// subset is an EndpointSubset after repack.
type subset struct {
	ports     []discoveryv1.EndpointPort
	addresses []address // ready ones first
}

// address is an address of a subset, and whether it is ready.
type address struct {
	*corev1.EndpointAddress
	ready bool
}

// addressKey identifies an address: two pods may share the IP of their node.
type addressKey struct {
	ip  string
	uid types.UID
}

// addressSet has the addresses of a port. An address that a port has both as ready and as not ready is not ready.
type addressSet map[addressKey]address

func (s addressSet) add(list []corev1.EndpointAddress, ready bool) {
	for i := range list {
		key := addressKey{ip: list[i].IP}
		if ref := list[i].TargetRef; ref != nil {
			key.uid = ref.UID
		}
		a, exists := s[key]
		if !exists {
			a = address{&list[i], ready}
		}
		a.ready = a.ready && ready
		s[key] = a
	}
}

// sorted returns the addresses, the ready ones first.
func (s addressSet) sorted() []address {
	keys := slices.SortedFunc(maps.Keys(s), func(a, b addressKey) int {
		switch {
		case s[a].ready && !s[b].ready:
			return -1
		case !s[a].ready && s[b].ready:
			return 1
		}
		return cmp.Or(strings.Compare(a.ip, b.ip), cmp.Compare(a.uid, b.uid))
	})
	all := make([]address, len(keys))
	for i, key := range keys {
		all[i] = s[key]
	}
	return all
}

// repack returns the subsets in the form that is the same for all equivalent lists of subsets: each port is in one
// subset, and ports with equal addresses share a subset. Addresses without ports are a subset too, unless a subset with
// ports has exactly these addresses.
func repack(all []corev1.EndpointSubset) (result []subset) {
	byPort := map[string]addressSet{}
	ports := map[string][]discoveryv1.EndpointPort{}
	for i := range all {
		for _, port := range portLists(all[i].Ports) {
			key := backend.PortsKey(port)
			if byPort[key] == nil {
				byPort[key], ports[key] = addressSet{}, port
			}
			byPort[key].add(all[i].Addresses, true)
			byPort[key].add(all[i].NotReadyAddresses, false)
		}
	}
	byAddresses := map[string]int{}
	for _, port := range slices.Sorted(maps.Keys(byPort)) {
		addresses := byPort[port].sorted()
		key := addressesKey(addresses)
		i, exists := byAddresses[key]
		if !exists {
			i = len(result)
			byAddresses[key], result = i, append(result, subset{addresses: addresses})
		}
		result[i].ports = append(result[i].ports, ports[port]...)
	}
	return result
}

// portLists returns a list for each port, or one empty list if there are no ports.
func portLists(all []corev1.EndpointPort) (lists [][]discoveryv1.EndpointPort) {
	if len(all) == 0 {
		return [][]discoveryv1.EndpointPort{nil}
	}
	for i := range all {
		lists = append(lists, []discoveryv1.EndpointPort{{Name: &all[i].Name, Port: &all[i].Port,
			Protocol: &all[i].Protocol, AppProtocol: all[i].AppProtocol}})
	}
	return lists
}

// addressesKey returns a key that is equal for equal addresses.
func addressesKey(list []address) string {
	var key strings.Builder
	for _, a := range list {
		uid := types.UID("")
		if a.TargetRef != nil {
			uid = a.TargetRef.UID
		}
		fmt.Fprintf(&key, "%s %s %t;", a.IP, uid, a.ready)
	}
	return key.String()
}
