package scheduler

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var (
	noVictims = &refusal{[]string{"No preemption victims found for incoming pod"}, false, 0}
	unhelpful = &refusal{[]string{"Preemption is not helpful for scheduling"}, true, 0}
)

// How many candidates are compared: a share of the nodes that may be some, and at least so many.
const (
	comparedShare = 10 // percent
	leastCompared = 100
)

// candidate is a node that would take the pod if others left.
type candidate struct {
	node     *Node
	victims  []*Pod // the most important first
	violated int    // victims that a budget would rather keep
}

// preempt looks for a node that pods of lower priority could leave. It completes the decision of a pod that no node takes.
func (d *deciding) preempt(decision *Decision) {
	say := func(text string) { decision.Message += " preemption: " + text }
	if d.pod.neverPreempts() {
		decision.Keep = true
		say("not eligible due to preemptionPolicy=Never.")
		return
	}
	if d.alreadyLeaving() {
		decision.Keep, decision.waits = true, decision.waits|forRoom
		say("not eligible due to a terminating pod on the nominated node.")
		return
	}
	found, refusals := d.candidates()
	if len(found) == 0 {
		say(d.message(refusals, unhelpful))
		return
	}
	chosen := slices.MinFunc(found, candidate.compare)
	decision.Promise, decision.Victims, decision.beside = chosen.node.Name, chosen.victims, chosen.node.Pods
	decision.waits |= forRoom
}

// alreadyLeaving says that somebody is leaving the node that the pod was promised.
func (d *deciding) alreadyLeaving() bool {
	name := d.pod.Status.NominatedNodeName
	if name == "" {
		return false
	}
	n := d.Node(name)
	if r := d.refusals[name]; n == nil || r == nil || r.final {
		return false
	}
	return slices.ContainsFunc(n.Pods, func(q *Pod) bool { return q.priority < d.pod.priority && q.DeletionTimestamp != nil && preempted(q) })
}

// preempted says that a pod was told to leave for another one.
func preempted(q *Pod) bool {
	return slices.ContainsFunc(q.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
	})
}

// candidates are nodes that would take the pod if others left, enough to choose from, and why others would not.
func (d *deciding) candidates() (found []candidate, refusals map[string]*refusal) {
	refusals = map[string]*refusal{}
	var possible []*Node
	for i := range d.Nodes {
		n := d.Nodes[(d.Start+i)%len(d.Nodes)]
		if r := d.refusals[n.Name]; r == nil || r.final {
			continue
		}
		if n.lowest >= d.pod.priority {
			refusals[n.Name] = noVictims
			continue
		}
		possible = append(possible, n)
	}
	if len(possible) == 0 {
		return nil, refusals
	}
	budgets := d.Budgets()
	most := max(leastCompared, len(possible)*comparedShare/100)
	unharmful := 0
	for _, n := range possible {
		c, r := d.emptied(n, budgets)
		if r != nil {
			refusals[n.Name] = r
			continue
		}
		found = append(found, c)
		if c.violated == 0 {
			unharmful++
		}
		if unharmful > 0 && len(found) >= most {
			break
		}
	}
	return found, refusals
}

// emptied is a node as it would take the pod, with as many others, and as important ones, as can stay.
func (d *deciding) emptied(n *Node, budgets []*policyv1.PodDisruptionBudget) (c candidate, r *refusal) {
	less := func(q *Pod) bool { return q.priority < d.pod.priority }
	var may []*Pod
	for _, q := range n.Pods {
		if less(q) {
			may = append(may, q)
		}
	}
	d.count(may, n, -1)
	rest := n.without(less)
	if r := d.refuses(rest); r != nil {
		d.count(may, n, 1)
		return c, r
	}
	slices.SortStableFunc(may, byImportance)
	kept, free := split(may, budgets)
	c.node = n
	for i, q := range slices.Concat(kept, free) {
		if d.stays(q, rest) {
			continue
		}
		if c.victims = append(c.victims, q); i < len(kept) {
			c.violated++
		}
	}
	d.count(c.victims, n, 1)
	slices.SortStableFunc(c.victims, byImportance)
	return c, nil
}

// stays puts a pod back on a node, if the node takes the pod that is decided about nevertheless.
func (d *deciding) stays(q *Pod, rest *Node) bool {
	back := []*Pod{q}
	rest.add(q)
	d.count(back, rest, 1)
	if d.refuses(rest) == nil {
		return true
	}
	rest.dropLast()
	d.count(back, rest, -1)
	return false
}

// byImportance puts the pods with the highest priority first, and among equals those that have run for longest.
func byImportance(a, b *Pod) int {
	return cmp.Or(-cmp.Compare(a.priority, b.priority), began(a).Compare(began(b)))
}

// began is when a pod began to run. One that has not yet is the newest.
func began(p *Pod) time.Time {
	if p.Status.StartTime == nil {
		return time.Unix(math.MaxInt32, 0)
	}
	return p.Status.StartTime.Time
}

// split divides pods into those that a budget would rather keep, and those that may go.
func split(pods []*Pod, budgets []*policyv1.PodDisruptionBudget) (kept, free []*Pod) {
	allowed := make([]int32, len(budgets))
	selectors := make([]labels.Selector, len(budgets))
	for i, budget := range budgets {
		allowed[i], selectors[i] = budget.Status.DisruptionsAllowed, selector(budget.Spec.Selector)
	}
	for _, p := range pods {
		violates := false
		for i, budget := range budgets {
			if budget.Namespace != p.Namespace || selectors[i].Empty() || !selectors[i].Matches(labels.Set(p.Labels)) {
				continue
			}
			if _, counted := budget.Status.DisruptedPods[p.Name]; counted {
				continue
			}
			allowed[i]--
			violates = violates || allowed[i] < 0
		}
		if violates {
			kept = append(kept, p)
		} else {
			free = append(free, p)
		}
	}
	return kept, free
}

// compare puts the candidate first that costs the least: which violates the fewest budgets, whose most important victim is the
// least important, then by the sum of their priorities, by their number, and by who has run for the shortest time.
func (c candidate) compare(o candidate) int {
	return cmp.Or(
		cmp.Compare(c.violated, o.violated),
		cmp.Compare(c.victims[0].priority, o.victims[0].priority),
		cmp.Compare(c.priorities(), o.priorities()),
		cmp.Compare(len(c.victims), len(o.victims)),
		-c.earliest().Compare(o.earliest()),
	)
}

func (c candidate) priorities() (sum int64) {
	for _, v := range c.victims {
		sum += int64(v.priority) + math.MaxInt32 + 1 // so that many of a negative one are no better than few
	}
	return sum
}

// earliest is since when the longest running of the most important victims runs.
func (c candidate) earliest() time.Time {
	earliest := began(c.victims[0])
	for _, v := range c.victims[1:] {
		if at := began(v); v.priority == c.victims[0].priority && at.Before(earliest) {
			earliest = at
		}
	}
	return earliest
}
