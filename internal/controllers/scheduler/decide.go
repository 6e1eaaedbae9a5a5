package scheduler

import (
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
)

// Input is what the controller has observed. Decide does not modify it.
type Input struct {
	Pod *Pod
	// Nodes are all nodes, in a stable order.
	Nodes []*Node
	// Start is the index of the first node to check. In a large cluster only some nodes are checked, and
	// Start rotates through all of them.
	Start int
	// Node returns a node by name; nil if there is none.
	Node func(name string) *Node
	// Namespaces returns the labels of a namespace.
	Namespaces NamespaceLabels
	// AntiAffinity reports whether any node has pods with required anti-affinity, Affinity whether any has pods with
	// other pod affinity.
	AntiAffinity, Affinity bool
	// Budgets returns the disruption budgets; only preemption calls it.
	Budgets func() []*policyv1.PodDisruptionBudget
}

// Decision is the result for a pod.
type Decision struct {
	// Node is the node to bind to; empty if none fits.
	Node string
	// Checked is the number of nodes that were checked.
	Checked int

	// Message states why no node fits; waitsFor are the changes that may remove the reason.
	Message  string
	waitsFor cause
	// Nominate is the node to nominate the pod for, empty for none; KeepNomination leaves the nomination unchanged.
	Nominate       string
	KeepNomination bool
	// Victims are the pods to preempt on that node; observed are all pods that were observed there.
	Victims  []*Pod
	observed []*Pod
}

// deciding holds the state of one run of Decide.
type deciding struct {
	Input
	pod         *Pod
	podAffinity *podAffinity // nil if no pod affinity is involved
	spreading   *spreading   // nil if the pod has no required spread constraints
	refusals    map[string]*refusal
}

// Decide returns the node with the best score among those that fit the pod. If none fits, it looks for pods
// with a lower priority to preempt.
func Decide(input Input) Decision {
	d := &deciding{Input: input, pod: input.Pod, refusals: map[string]*refusal{}}
	if len(d.Nodes) == 0 {
		return Decision{Message: "no nodes available to schedule pods", waitsFor: forNode}
	}
	d.evaluateOthers()
	fitting, checked := d.fitting()
	if len(fitting) > 0 {
		return Decision{Node: d.choose(fitting).Name, Checked: checked}
	}
	decision := Decision{Message: d.message(d.refusals, unnamed), Checked: checked, waitsFor: forNode}
	for _, r := range d.refusals {
		decision.waitsFor |= r.waitsFor
	}
	d.preempt(&decision)
	return decision
}

// evaluateOthers evaluates the existing pods, if spread or affinity depends on them.
func (d *deciding) evaluateOthers() {
	if len(d.pod.requiredSpread) > 0 {
		d.spreading = newSpreading(d.pod, d.Nodes)
	}
	hasTerms := len(d.pod.affinity)+len(d.pod.antiAffinity) > 0
	if hasTerms || d.AntiAffinity {
		d.podAffinity = newPodAffinity(d.pod, d.Nodes, d.Namespaces)
	}
}

// fewNodes is the number of nodes up to which all are checked. In a larger cluster, checking stops when a
// share of the nodes, at least leastShare, fits; the share shrinks with the size of the cluster.
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

// fitting returns enough fitting nodes to choose from, and the number of nodes checked.
func (d *deciding) fitting() (nodes []*Node, checked int) {
	if d.pod.Status.NominatedNodeName != "" {
		if n := d.Node(d.pod.Status.NominatedNodeName); n != nil && d.refuses(n) == nil {
			return []*Node{n}, 0
		}
	}
	if d.pod.nodeNames != nil {
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
	for ; checked < len(d.Nodes) && len(nodes) < enough; checked++ {
		n := d.Nodes[(d.Start+checked)%len(d.Nodes)]
		if r := d.refuses(n); r == nil {
			nodes = append(nodes, n)
		} else {
			d.refusals[n.Name] = r
		}
	}
	return nodes, checked
}

// named returns the existing nodes among those that the pod names.
func (d *deciding) named() (nodes []*Node) {
	for name := range d.pod.nodeNames {
		if n := d.Node(name); n != nil {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// refuses returns why a node does not fit the pod, either as it is or with the pods nominated for it; nil if
// it fits.
func (d *deciding) refuses(n *Node) *refusal {
	if len(n.Nominated) > 0 {
		if before := n.nominatedBefore(d.pod); len(before) > 0 {
			d.count(before, n, 1)
			r := d.refusesNow(n.with(before))
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
	if d.podAffinity != nil {
		return d.podAffinity.refuses(n)
	}
	return nil
}

// count adjusts the counts for pods that are assumed on, or removed from, a node.
func (d *deciding) count(pods []*Pod, n *Node, times int) {
	for _, q := range pods {
		if d.spreading != nil {
			d.spreading.count(q, n, times)
		}
		if d.podAffinity != nil {
			d.podAffinity.count(q, n, int64(times))
		}
	}
}

// message returns why no node fits, in kube-scheduler's words. Nodes without a refusal count as other.
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
