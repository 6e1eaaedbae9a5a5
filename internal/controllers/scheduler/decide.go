package scheduler

import (
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
)

// Seen is what a decision is made of. Nothing of it is changed.
type Seen struct {
	Pod *Pod
	// Nodes are all nodes, in an order that does not change.
	Nodes []*Node
	// Start is the node to look at first. Of many nodes not all are looked at, so that each has its turn.
	Start int
	// Node finds one by its name; nil when there is none.
	Node func(name string) *Node
	// Namespaces are the labels of namespaces.
	Namespaces NamespaceLabels
	// Apart and Minding say that there are pods on nodes that must be, or should be, near to some others, or far from them.
	Apart, Minding bool
	// Budgets are asked when others have to leave for the pod.
	Budgets func() []*policyv1.PodDisruptionBudget
}

// Decision is what becomes of a pod.
type Decision struct {
	// Node takes the pod; empty when none does.
	Node string
	// Looked is how many nodes were looked at.
	Looked int

	// Message says why no node takes the pod, and waits what it waits for.
	Message string
	waits   cause
	// Promise is the node that the pod is promised, empty for none; Keep says that it stays as it is.
	Promise string
	Keep    bool
	// Victims have to leave it; beside are all that were seen there.
	Victims []*Pod
	beside  []*Pod
}

// deciding is a decision that is being made.
type deciding struct {
	Seen
	pod        *Pod
	neighbours *neighbours // nil when nobody minds who is near
	spreading  *spreading  // nil when the pod need not be spread
	refusals   map[string]*refusal
}

// Decide finds the node for a pod: the best of those that take it. When none does, it may be that others, which are less
// important, leave one.
func Decide(seen Seen) Decision {
	d := &deciding{Seen: seen, pod: seen.Pod, refusals: map[string]*refusal{}}
	if len(d.Nodes) == 0 {
		return Decision{Message: "no nodes available to schedule pods", waits: forNode}
	}
	d.lookAround()
	fitting, looked := d.fitting()
	if len(fitting) > 0 {
		return Decision{Node: d.choose(fitting).Name, Looked: looked}
	}
	decision := Decision{Message: d.message(d.refusals, unnamed), Looked: looked, waits: forNode}
	for _, r := range d.refusals {
		decision.waits |= r.waits
	}
	d.preempt(&decision)
	return decision
}

// lookAround looks at the pods that there are already, as far as they matter.
func (d *deciding) lookAround() {
	if len(d.pod.even) > 0 {
		d.spreading = newSpreading(d.pod, d.Nodes)
	}
	minds := len(d.pod.with)+len(d.pod.without) > 0
	if minds || d.Apart {
		d.neighbours = newNeighbours(d.pod, d.Nodes, d.Namespaces)
	}
}

// Of so many nodes, all are looked at; of more, until a share of them, which is the smaller the more there are, takes the pod.
const (
	fewNodes   = 100
	leastShare = 5 // percent
)

func enough(nodes int) int {
	if nodes < fewNodes {
		return nodes
	}
	return max(fewNodes, nodes*max(leastShare, 50-nodes/125)/100)
}

// fitting are nodes that take the pod, enough to choose from, and how many were looked at.
func (d *deciding) fitting() (nodes []*Node, looked int) {
	if d.pod.Status.NominatedNodeName != "" {
		if n := d.Node(d.pod.Status.NominatedNodeName); n != nil && d.refuses(n) == nil {
			return []*Node{n}, 0
		}
	}
	if d.pod.names != nil {
		for _, n := range d.named() {
			if r := d.refuses(n); r == nil {
				nodes = append(nodes, n)
			} else {
				d.refusals[n.Name] = r
			}
		}
		return nodes, 0
	}
	enough := enough(len(d.Nodes))
	nodes = make([]*Node, 0, enough)
	for ; looked < len(d.Nodes) && len(nodes) < enough; looked++ {
		n := d.Nodes[(d.Start+looked)%len(d.Nodes)]
		if r := d.refuses(n); r == nil {
			nodes = append(nodes, n)
		} else {
			d.refusals[n.Name] = r
		}
	}
	return nodes, looked
}

// named are the nodes that the pod names, those that there are.
func (d *deciding) named() (nodes []*Node) {
	for name := range d.pod.names {
		if n := d.Node(name); n != nil {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// refuses is why a node does not take the pod: as it is, or as it will be when those are there that it was promised to.
func (d *deciding) refuses(n *Node) *refusal {
	if len(n.Promised) > 0 {
		if before := n.promisedBefore(d.pod); len(before) > 0 {
			d.count(before, n, 1)
			r := d.refusesNow(n.and(before))
			d.count(before, n, -1)
			if r != nil {
				return r
			}
		}
	}
	return d.refusesNow(n)
}

func (d *deciding) refusesNow(n *Node) *refusal {
	if r := n.refuses(d.pod); r != nil {
		return r
	}
	if d.spreading != nil {
		if r := d.spreading.refuses(n); r != nil {
			return r
		}
	}
	if d.neighbours != nil {
		return d.neighbours.refuses(n)
	}
	return nil
}

// count counts pods as if they were on a node, or were gone.
func (d *deciding) count(pods []*Pod, n *Node, times int) {
	for _, q := range pods {
		if d.spreading != nil {
			d.spreading.count(q, n, times)
		}
		if d.neighbours != nil {
			d.neighbours.count(q, n, int64(times))
		}
	}
}

// message is why no node takes the pod, in the words that users know. Nodes without a refusal have the other.
func (d *deciding) message(refusals map[string]*refusal, other *refusal) string {
	times := map[string]int{}
	for _, r := range refusals {
		for _, reason := range r.reasons {
			times[reason]++
		}
	}
	if missing := len(d.Nodes) - len(refusals); missing > 0 {
		times[other.reasons[0]] += missing
	}
	reasons := make([]string, 0, len(times))
	for reason, count := range times {
		reasons = append(reasons, fmt.Sprintf("%d %s", count, reason))
	}
	slices.Sort(reasons)
	return fmt.Sprintf("0/%d nodes are available: %s.", len(d.Nodes), strings.Join(reasons, ", "))
}
