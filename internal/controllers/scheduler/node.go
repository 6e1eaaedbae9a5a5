package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node is a node with the pods on it.
type Node struct {
	*corev1.Node
	// Pods are the pods that have not ended.
	Pods []*Pod
	// Nominated are the pods nominated for the node, for which others are being preempted.
	Nominated []*Pod

	allocatable  resources
	maxPods      int // number of pods
	used         resources
	scored       resources
	ports        []hostPort
	lowest       int32 // lowest priority of any pod; may be too low after removeLast
	antiAffinity []*Pod
	affinity     []*Pod            // pods with preferred terms or required affinity
	owners       map[types.UID]int // number of non-terminating pods by controller
}

// NewNode returns a node without pods.
func NewNode(node *corev1.Node) *Node {
	n := &Node{Node: node, lowest: math.MaxInt32, allocatable: amounts(node.Status.Allocatable)}
	if pods, ok := node.Status.Allocatable[corev1.ResourcePods]; ok {
		n.maxPods = int(pods.Value())
	}
	return n
}

// add adds a pod to the node.
func (n *Node) add(p *Pod) {
	n.Pods = append(n.Pods, p)
	n.used.add(&p.requests, 1)
	n.scored.add(&p.scored, 1)
	n.ports = append(n.ports, p.ports...)
	n.lowest = min(n.lowest, p.priority)
	if len(p.antiAffinity) > 0 {
		n.antiAffinity = append(n.antiAffinity, p)
	}
	if len(p.affinity)+len(p.preferredPods) > 0 {
		n.affinity = append(n.affinity, p)
	}
	if p.owner != "" && p.DeletionTimestamp == nil { // a terminating pod leaves room for another of its owner
		if n.owners == nil {
			n.owners = map[types.UID]int{}
		}
		n.owners[p.owner]++
	}
}

// removeLast undoes the last add, except that lowest is not raised.
func (n *Node) removeLast() {
	last := len(n.Pods) - 1
	p := n.Pods[last]
	n.Pods = n.Pods[:last]
	n.used.add(&p.requests, -1)
	n.scored.add(&p.scored, -1)
	n.ports = n.ports[:len(n.ports)-len(p.ports)]
	if len(p.antiAffinity) > 0 {
		n.antiAffinity = n.antiAffinity[:len(n.antiAffinity)-1]
	}
	if len(p.affinity)+len(p.preferredPods) > 0 {
		n.affinity = n.affinity[:len(n.affinity)-1]
	}
	if p.owner != "" && p.DeletionTimestamp == nil {
		n.owners[p.owner]--
	}
}

// without returns a copy of the node without some of its pods.
func (n *Node) without(gone func(*Pod) bool) *Node {
	fresh := NewNode(n.Node)
	fresh.Nominated = n.Nominated
	for _, p := range n.Pods {
		if !gone(p) {
			fresh.add(p)
		}
	}
	return fresh
}

// with returns a copy of the node with more pods.
func (n *Node) with(more []*Pod) *Node {
	fresh := n.without(func(*Pod) bool { return false })
	for _, p := range more {
		fresh.add(p)
	}
	return fresh
}

// nominatedBefore returns the nominated pods with the same or a higher priority than p.
func (n *Node) nominatedBefore(p *Pod) (before []*Pod) {
	for _, q := range n.Nominated {
		if q.priority >= p.priority && q.UID != p.UID {
			before = append(before, q)
		}
	}
	return before
}

// refusal is why a node does not fit a pod.
type refusal struct {
	reasons []string
	// final means that preempting pods of the node would not help.
	final bool
	// waitsFor are the changes that may remove the refusal.
	waitsFor cause
}

// cause is a set of changes that an unschedulable pod waits for.
type cause uint8

const (
	forNode cause = 1 << iota // a node is created or changes
	forRoom                   // pods leave a node
	forPods                   // other pods are created, deleted or relabeled
)

// Refusals without parameters, in kube-scheduler's words.
var (
	unschedulable    = &refusal{[]string{"node(s) were unschedulable"}, true, forNode}
	untolerated      = &refusal{[]string{"node(s) had untolerated taint(s)"}, true, forNode}
	unselected       = &refusal{[]string{"node(s) didn't match Pod's node affinity/selector"}, true, forNode}
	unnamed          = &refusal{[]string{"node(s) didn't satisfy plugin(s) [NodeAffinity]"}, true, forNode}
	portsUnavailable = &refusal{[]string{"node(s) didn't have free ports for the requested pod ports"}, false, forRoom}
)

var cordoned = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}

// refuses returns why the node by itself does not fit a pod; nil if it does.
func (n *Node) refuses(p *Pod) *refusal {
	switch {
	case n.Spec.Unschedulable && !p.tolerates(cordoned):
		return unschedulable
	case len(n.Spec.Taints) > 0 && !p.tolerates(n.Spec.Taints):
		return untolerated
	case !n.matchesSelector(p):
		return unselected
	case len(p.ports) > 0 && n.hasPortConflict(p):
		return portsUnavailable
	}
	if short, final := n.lacks(p); len(short) > 0 {
		waits := forRoom
		if final {
			waits = forNode
		}
		return &refusal{short, final, waits}
	}
	return nil
}

// matchesSelector reports whether the pod's node selector and affinity match the node. An invalid affinity matches
// no node.
func (n *Node) matchesSelector(p *Pod) bool {
	for key, value := range p.Spec.NodeSelector {
		if label, ok := n.Labels[key]; !ok || label != value {
			return false
		}
	}
	if p.nodeSelector == nil {
		return true
	}
	ok, _ := p.nodeSelector.Match(n.Node)
	return ok
}
