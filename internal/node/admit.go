package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	resourcehelper "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/informer"
)

// refusal is why a node rejects a pod that was bound to it: two schedulers may assign the same room, and a
// client that binds a pod itself may not check. Reasons and messages are a kubelet's.
type refusal struct{ Reason, Message string }

// demand is what a pod requests from its node.
type demand struct {
	amounts map[corev1.ResourceName]int64
	ports   []corev1.ContainerPort // host ports
}

func demandOf(pod *corev1.Pod) demand {
	d := demand{amounts: amounts(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}))}
	read := func(c *corev1.Container) {
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				d.ports = append(d.ports, port)
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecarSpec(c) {
			read(c)
		}
	}
	for i := range pod.Spec.Containers {
		read(&pod.Spec.Containers[i])
	}
	return d
}

// amounts converts quantities to numbers; CPU is in millicores.
func amounts(list corev1.ResourceList) map[corev1.ResourceName]int64 {
	all := make(map[corev1.ResourceName]int64, len(list))
	for name, quantity := range list {
		if name == corev1.ResourceCPU {
			all[name] = quantity.MilliValue()
		} else {
			all[name] = quantity.Value()
		}
	}
	return all
}

// checkFit returns why a node with other pods rejects a pod; nil if it fits. Requests for extended resources
// that the node does not have are ignored, as by a kubelet.
func checkFit(pod *corev1.Pod, wants demand, node *corev1.Node, others []demand) *refusal {
	if r := insufficient(wants, amounts(node.Status.Allocatable), others); r != nil {
		return r
	}
	if ok, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); !ok {
		return failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
	}
	for _, port := range wants.ports {
		for _, other := range others {
			if slices.ContainsFunc(other.ports, func(p corev1.ContainerPort) bool { return portsConflict(port, p) }) {
				return failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
			}
		}
	}
	evicts := func(t *corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }
	_, untolerated := schedulinghelper.FindMatchingUntoleratedTaint(
		klog.Logger{}, node.Spec.Taints, pod.Spec.Tolerations, evicts, false)
	if untolerated {
		return failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
	}
	return nil
}

func failed(what, why string) *refusal {
	return &refusal{what, fmt.Sprintf("Predicate %s failed: %s", what, why)}
}

// insufficient returns a refusal if the node lacks a requested resource.
func insufficient(wants demand, has map[corev1.ResourceName]int64, others []demand) *refusal {
	lacks := func(name corev1.ResourceName, requested, used int64) *refusal {
		if requested == 0 || requested <= has[name]-used {
			return nil
		}
		return &refusal{"OutOf" + string(name), fmt.Sprintf(
			"Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, requested, used,
			has[name])}
	}
	if r := lacks(corev1.ResourcePods, 1, int64(len(others))); r != nil {
		return r
	}
	for _, name := range sortedNames(wants.amounts) {
		if _, has := has[name]; !has && isExtended(name) {
			continue
		}
		var used int64
		for _, other := range others {
			used += other.amounts[name]
		}
		if r := lacks(name, wants.amounts[name], used); r != nil {
			return r
		}
	}
	return nil
}

// sortedNames returns the resource names in the order in which a kubelet checks them.
func sortedNames(amounts map[corev1.ResourceName]int64) []corev1.ResourceName {
	first := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	rank := func(name corev1.ResourceName) int {
		if at := slices.Index(first, name); at >= 0 {
			return at
		}
		return len(first)
	}
	names := make([]corev1.ResourceName, 0, len(amounts))
	for name := range amounts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b corev1.ResourceName) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return names
}

// isExtended reports whether a resource is an extended resource, not one of Kubernetes' own.
func isExtended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// portsConflict reports whether two host ports conflict.
func portsConflict(a, b corev1.ContainerPort) bool {
	every := func(p corev1.ContainerPort) bool { return p.HostIP == "" || p.HostIP == "0.0.0.0" }
	protocol := func(p corev1.ContainerPort) corev1.Protocol { return cmp.Or(p.Protocol, corev1.ProtocolTCP) }
	return a.HostPort == b.HostPort && protocol(a) == protocol(b) && (every(a) || every(b) || a.HostIP == b.HostIP)
}

// reject marks a pod as failed that its node does not admit.
func (a *agent) reject(ctx context.Context, pod *corev1.Pod, r *refusal) error {
	seen := input{Pod: pod, Now: time.Now()}
	current, err := a.write(ctx, seen, rejected(seen, r))
	if current {
		a.events.Warning(pod, r.Reason, "%s", r.Message)
	}
	return err
}

// admit decides once whether a pod that was bound to a node may run there. Before it refuses a pod, it reads
// the node from the server, since the cached one may be stale.
func (a *agent) admit(ctx context.Context, l *podState) (*refusal, error) {
	if l.admitted || l.pod.DeletionTimestamp != nil || isTerminal(l.pod.Status.Phase) {
		return nil, nil
	}
	name := l.pod.Spec.NodeName
	node, found := a.nodes.Indexer().Get(informer.Key{Name: name})
	if found {
		if r := a.fits(l, l.pod, l.wants, node); r == nil {
			return nil, nil
		}
	}
	node, err := a.writeNode.Get(ctx, "", name)
	if apierrors.IsNotFound(err) { // the node was deleted: use the state that it would report
		node = a.describe(name, l.pod.CreationTimestamp.Time)
		node.Status.Allocatable = node.Status.Capacity
	} else if err != nil {
		return nil, fmt.Errorf("reading node %s before rejecting pod %s: %w", name, l.pod.Name, err)
	}
	return a.fits(l, l.pod, l.wants, node), nil
}

// fits admits a pod, or its resize, to the node if there is room beside the pods admitted before, as far as the cache
// shows them there. Pods that have ended or are gone no longer count. A resize that does not fit is deferred.
func (a *agent) fits(l *podState, pod *corev1.Pod, wants demand, node *corev1.Node) *refusal {
	a.mu.Lock()
	defer a.mu.Unlock()
	var others []demand
	for beside := range a.pods.Indexer().Each("node", pod.Spec.NodeName) {
		other := a.lives[informer.KeyOf(beside)]
		switch {
		case beside.UID == l.uid || isTerminal(beside.Status.Phase):
		case other != nil && other.uid == beside.UID && other.admitted:
			others = append(others, other.wants)
		case beside.Status.StartTime != nil: // admitted before this agent started
			others = append(others, demandOf(recoverAllocation(beside)))
		}
	}
	r := checkFit(pod, wants, node, others)
	switch key := informer.KeyOf(pod); {
	case r == nil:
		l.admitted, l.wants = true, wants
		delete(a.deferred, key)
	case l.admitted:
		a.deferred[key] = true
	}
	return r
}
