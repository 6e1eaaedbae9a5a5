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

// comparedShare and leastCompared bound the number of preemption candidates that are compared: a share of the
// possible nodes, but at least leastCompared.
const (
	comparedShare = 10 // percent
	leastCompared = 100
)

// candidate is a node that would fit the pod after preemption.
type candidate struct {
	node     *Node
	victims  []*Pod // by decreasing importance
	violated int    // number of victims that violate a disruption budget
}

// preempt completes the decision of an unschedulable pod with the best node to preempt pods on, if there is
// one.
func (d *deciding) preempt(decision *Decision) {
	addMessage := func(text string) { decision.Message += " preemption: " + text }
	if d.pod.neverPreempts() {
		decision.KeepNomination = true
		addMessage("not eligible due to preemptionPolicy=Never.")
		return
	}
	if d.alreadyLeaving() {
		decision.KeepNomination, decision.waitsFor = true, decision.waitsFor|forRoom
		addMessage("not eligible due to a terminating pod on the nominated node.")
		return
	}
	found, refusals := d.candidates()
	if len(found) == 0 {
		addMessage(d.message(refusals, unhelpful))
		return
	}
	chosen := slices.MinFunc(found, candidate.compare)
	decision.Nominate, decision.Victims, decision.observed = chosen.node.Name, chosen.victims, chosen.node.Pods
	decision.waitsFor |= forRoom
}

// alreadyLeaving reports whether a preempted pod is still terminating on the nominated node.
func (d *deciding) alreadyLeaving() bool {
	name := d.pod.Status.NominatedNodeName
	if name == "" {
		return false
	}
	n := d.Node(name)
	if r := d.refusals[name]; n == nil || r == nil || r.final {
		return false
	}
	return slices.ContainsFunc(n.Pods, func(q *Pod) bool {
		return q.priority < d.pod.priority && q.DeletionTimestamp != nil && preempted(q)
	})
}

// preempted reports whether a pod was preempted by the scheduler.
func preempted(q *Pod) bool {
	return slices.ContainsFunc(q.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue &&
			c.Reason == corev1.PodReasonPreemptionByScheduler
	})
}

// candidates returns enough preemption candidates to choose from, and why other nodes are none.
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
	limit := max(leastCompared, len(possible)*comparedShare/100)
	nonViolating := 0
	for _, n := range possible {
		c, r := d.selectVictims(n, budgets)
		if r != nil {
			refusals[n.Name] = r
			continue
		}
		found = append(found, c)
		if c.violated == 0 {
			nonViolating++
		}
		if nonViolating > 0 && len(found) >= limit {
			break
		}
	}
	return found, refusals
}

// selectVictims computes the victims on a node, sparing as many and as important pods as possible.
func (d *deciding) selectVictims(n *Node, budgets []*policyv1.PodDisruptionBudget) (c candidate, r *refusal) {
	isLower := func(q *Pod) bool { return q.priority < d.pod.priority }
	var lowerPriority []*Pod
	for _, q := range n.Pods {
		if isLower(q) {
			lowerPriority = append(lowerPriority, q)
		}
	}
	d.count(lowerPriority, n, -1)
	rest := n.without(isLower)
	if r := d.refuses(rest); r != nil {
		d.count(lowerPriority, n, 1)
		return c, r
	}
	slices.SortStableFunc(lowerPriority, byImportance)
	violating, nonViolating := splitByBudget(lowerPriority, budgets)
	c.node = n
	for i, q := range slices.Concat(violating, nonViolating) {
		if d.reprieve(q, rest) {
			continue
		}
		if c.victims = append(c.victims, q); i < len(violating) {
			c.violated++
		}
	}
	d.count(c.victims, n, 1)
	slices.SortStableFunc(c.victims, byImportance)
	return c, nil
}

// reprieve puts a pod back on the node if the pod being scheduled still fits.
func (d *deciding) reprieve(q *Pod, rest *Node) bool {
	back := []*Pod{q}
	rest.add(q)
	d.count(back, rest, 1)
	if d.refuses(rest) == nil {
		return true
	}
	rest.removeLast()
	d.count(back, rest, -1)
	return false
}

// byImportance orders pods by decreasing priority, then by decreasing running time.
func byImportance(a, b *Pod) int {
	return cmp.Or(-cmp.Compare(a.priority, b.priority), startedAt(a).Compare(startedAt(b)))
}

// startedAt returns when a pod started. A pod that has not started counts as the newest.
func startedAt(p *Pod) time.Time {
	if p.Status.StartTime == nil {
		return time.Unix(math.MaxInt32, 0)
	}
	return p.Status.StartTime.Time
}

// splitByBudget divides pods into those whose eviction would violate a disruption budget, and the others.
func splitByBudget(pods []*Pod, budgets []*policyv1.PodDisruptionBudget) (violating, nonViolating []*Pod) {
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
			violating = append(violating, p)
		} else {
			nonViolating = append(nonViolating, p)
		}
	}
	return violating, nonViolating
}

// compare orders candidates by cost: the number of violated budgets, the priority of the most important
// victim, the sum of priorities, the number of victims, and the start time of the most important victims,
// where the latest is cheapest.
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
		// makes each summand positive, so that more victims of negative priority do not cost less
		sum += int64(v.priority) + math.MaxInt32 + 1
	}
	return sum
}

// earliest returns the earliest start time among the victims of the highest priority.
func (c candidate) earliest() time.Time {
	earliest := startedAt(c.victims[0])
	for _, v := range c.victims[1:] {
		if at := startedAt(v); v.priority == c.victims[0].priority && at.Before(earliest) {
			earliest = at
		}
	}
	return earliest
}
