package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node is a node with the pods on it.
type Node struct {
	*corev1.Node
	// Pods are those that have not ended.
	Pods []*Pod
	// Promised are pods that are to come, for which others were told to leave.
	Promised []*Pod

	room    resources
	most    int // pods
	used    resources
	weight  resources
	ports   []hostPort
	lowest  int32 // priority of a pod
	apart   []*Pod
	minding []*Pod            // those that have a say about who is near
	owners  map[types.UID]int // how many pods each has that stay
}

// NewNode is a node without pods.
func NewNode(node *corev1.Node) *Node {
	n := &Node{Node: node, lowest: math.MaxInt32, room: amounts(node.Status.Allocatable)}
	if pods, ok := node.Status.Allocatable[corev1.ResourcePods]; ok {
		n.most = int(pods.Value())
	}
	return n
}

// add puts a pod on the node.
func (n *Node) add(p *Pod) {
	n.Pods = append(n.Pods, p)
	n.used.add(&p.need, 1)
	n.weight.add(&p.weight, 1)
	n.ports = append(n.ports, p.ports...)
	n.lowest = min(n.lowest, p.priority)
	if len(p.without) > 0 {
		n.apart = append(n.apart, p)
	}
	if len(p.with)+len(p.likes) > 0 {
		n.minding = append(n.minding, p)
	}
	if p.owner != "" && p.DeletionTimestamp == nil { // who is leaving makes room
		if n.owners == nil {
			n.owners = map[types.UID]int{}
		}
		n.owners[p.owner]++
	}
}

// dropLast takes back what was added last. Lowest may be lower than it is then.
func (n *Node) dropLast() {
	last := len(n.Pods) - 1
	p := n.Pods[last]
	n.Pods = n.Pods[:last]
	n.used.add(&p.need, -1)
	n.weight.add(&p.weight, -1)
	n.ports = n.ports[:len(n.ports)-len(p.ports)]
	if len(p.without) > 0 {
		n.apart = n.apart[:len(n.apart)-1]
	}
	if len(p.with)+len(p.likes) > 0 {
		n.minding = n.minding[:len(n.minding)-1]
	}
	if p.owner != "" && p.DeletionTimestamp == nil {
		n.owners[p.owner]--
	}
}

// without is the node when some of its pods have gone.
func (n *Node) without(gone func(*Pod) bool) *Node {
	fresh := NewNode(n.Node)
	fresh.Promised = n.Promised
	for _, p := range n.Pods {
		if !gone(p) {
			fresh.add(p)
		}
	}
	return fresh
}

// and is the node with more pods on it.
func (n *Node) and(more []*Pod) *Node {
	fresh := n.without(func(*Pod) bool { return false })
	for _, p := range more {
		fresh.add(p)
	}
	return fresh
}

// promisedBefore are the pods that were promised room on the node and go before a pod, or at the same time.
func (n *Node) promisedBefore(p *Pod) (before []*Pod) {
	for _, q := range n.Promised {
		if q.priority >= p.priority && q.UID != p.UID {
			before = append(before, q)
		}
	}
	return before
}

// refusal is why a node does not take a pod.
type refusal struct {
	reasons []string
	// final says that it would not help if other pods left the node.
	final bool
	// waits is what would.
	waits cause
}

// cause is what an unschedulable pod waits for. Several may be joined.
type cause uint8

const (
	forNode cause = 1 << iota // some node itself to change, or to come
	forRoom                   // pods to leave
	forPods                   // other pods to come, to go or to be labelled otherwise
)

// The refusals that are always the same, in Kubernetes' words.
var (
	unschedulable = &refusal{[]string{"node(s) were unschedulable"}, true, forNode}
	untolerated   = &refusal{[]string{"node(s) had untolerated taint(s)"}, true, forNode}
	unselected    = &refusal{[]string{"node(s) didn't match Pod's node affinity/selector"}, true, forNode}
	unnamed       = &refusal{[]string{"node(s) didn't satisfy plugin(s) [NodeAffinity]"}, true, forNode}
	portless      = &refusal{[]string{"node(s) didn't have free ports for the requested pod ports"}, false, forRoom}
)

var cordoned = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}

// refuses is why the node does not take a pod, whatever there is on others; nil when it does.
func (n *Node) refuses(p *Pod) *refusal {
	switch {
	case n.Spec.Unschedulable && !p.tolerates(cordoned):
		return unschedulable
	case len(n.Spec.Taints) > 0 && !p.tolerates(n.Spec.Taints):
		return untolerated
	case !n.selected(p):
		return unselected
	case len(p.ports) > 0 && n.occupied(p):
		return portless
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

// selected says whether the node is one of those that a pod asks for. A selector that cannot be read asks for none.
func (n *Node) selected(p *Pod) bool {
	for key, value := range p.Spec.NodeSelector {
		if label, ok := n.Labels[key]; !ok || label != value {
			return false
		}
	}
	if p.on == nil {
		return true
	}
	ok, _ := p.on.Match(n.Node)
	return ok
}
