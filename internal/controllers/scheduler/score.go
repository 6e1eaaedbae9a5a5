package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"
)

// maxScore is the maximum of each partial score. The partial scores are weighted and summed as in
// kube-scheduler's default profile, without image locality.
const (
	maxScore       = 100
	weightTaints   = 3
	weightAffinity = 2
	weightSpread   = 2
	weightPods     = 2
)

// choose returns the first node with the best score.
func (d *deciding) choose(fitting []*Node) *Node {
	if len(fitting) == 1 {
		return fitting[0]
	}
	scores := make([]int64, len(fitting))
	for i, n := range fitting {
		scores[i] = d.pod.leastAllocated(n) + d.pod.balanced(n)
	}
	d.scoreTaints(fitting, scores)
	d.scoreNodes(fitting, scores)
	d.scorePods(fitting, scores)
	d.scoreSpread(fitting, scores)
	chosen := 0
	for i := range scores {
		if scores[i] > scores[chosen] {
			chosen = i
		}
	}
	return fitting[chosen]
}

// leastAllocated scores the share of resources that remain free with the pod on the node.
func (p *Pod) leastAllocated(n *Node) int64 {
	var score, kinds int64
	for _, r := range [...][2]int64{{n.scored.cpu + p.scored.cpu, n.allocatable.cpu},
		{n.scored.memory + p.scored.memory, n.allocatable.memory}} {
		if r[1] == 0 {
			continue
		}
		kinds++
		if r[0] <= r[1] {
			score += (r[1] - r[0]) * maxScore / r[1]
		}
	}
	if kinds == 0 {
		return 0
	}
	return score / kinds
}

// balanced scores how much the pod evens out the used shares of CPU and memory.
func (p *Pod) balanced(n *Node) int64 {
	if p.requests.cpu == 0 && p.requests.memory == 0 {
		return 0
	}
	after := balance(n.used.cpu+p.requests.cpu, n.allocatable.cpu, n.used.memory+p.requests.memory,
		n.allocatable.memory)
	before := balance(n.used.cpu, n.allocatable.cpu, n.used.memory, n.allocatable.memory)
	return maxScore/2 + (maxScore/2+after-before)/2
}

func balance(cpu, cpus, memory, memories int64) int64 {
	if cpus == 0 || memories == 0 {
		return maxScore
	}
	a, b := min(1, float64(cpu)/float64(cpus)), min(1, float64(memory)/float64(memories))
	return int64((1 - math.Abs(a-b)/2) * maxScore)
}

// scoreTaints prefers nodes without untolerated PreferNoSchedule taints.
func (d *deciding) scoreTaints(fitting []*Node, scores []int64) {
	untoleratedCounts := make([]int64, len(fitting))
	var highest int64
	for i, n := range fitting {
		if len(n.Spec.Taints) > 0 {
			untoleratedCounts[i] = d.pod.preferNoScheduleTaints(n.Spec.Taints)
			highest = max(highest, untoleratedCounts[i])
		}
	}
	if highest == 0 {
		return
	}
	for i := range scores {
		scores[i] += weightTaints * (maxScore - maxScore*untoleratedCounts[i]/highest)
	}
}

// scoreNodes applies the pod's preferred node affinity.
func (d *deciding) scoreNodes(fitting []*Node, scores []int64) {
	if d.pod.preferredNodes == nil {
		return
	}
	preferred := make([]int64, len(fitting))
	var highest int64
	for i, n := range fitting {
		preferred[i] = d.pod.preferredNodes.Score(n.Node)
		highest = max(highest, preferred[i])
	}
	if highest == 0 {
		return
	}
	for i := range scores {
		scores[i] += weightAffinity * (maxScore * preferred[i] / highest)
	}
}

// scorePods applies preferred pod affinity, of the pod and of the existing pods.
func (d *deciding) scorePods(fitting []*Node, scores []int64) {
	if len(d.pod.preferredPods) == 0 && !d.Affinity {
		return
	}
	preferences := preferenceScores(d.pod, d.Nodes, d.Namespaces)
	if len(preferences) == 0 {
		return
	}
	raw := make([]int64, len(fitting))
	lowest, highest := int64(math.MaxInt64), int64(math.MinInt64)
	for i, n := range fitting {
		for key := range preferences {
			raw[i] += preferences.at(n, key)
		}
		lowest, highest = min(lowest, raw[i]), max(highest, raw[i])
	}
	if lowest == highest {
		return
	}
	for i := range scores {
		scores[i] += weightPods * int64(maxScore*float64(raw[i]-lowest)/float64(highest-lowest))
	}
}

// scoreSpread prefers domains with few of the pods to spread. Without constraints, the pods of one controller
// are spread over nodes and zones.
func (d *deciding) scoreSpread(fitting []*Node, scores []int64) {
	p, sameOwner := d.pod, false
	spread, countPods := p.preferredSpread, func(c *constraint, n *Node) (pods int) {
		for _, q := range n.Pods {
			if c.matches(p, q) {
				pods++
			}
		}
		return pods
	}
	if len(p.Spec.TopologySpreadConstraints) == 0 && p.owner != "" {
		sameOwner, spread = true, defaultSpread
		countPods = func(_ *constraint, n *Node) int { return n.owners[p.owner] }
	}
	if len(spread) == 0 {
		return
	}
	raw, ignored := d.spreadScores(fitting, spread, countPods, !sameOwner)
	lowest, highest := int64(math.MaxInt64), int64(0)
	for i := range raw {
		if !ignored[i] {
			lowest, highest = min(lowest, raw[i]), max(highest, raw[i])
		}
	}
	for i := range scores {
		switch {
		case ignored[i]:
		case highest == 0:
			scores[i] += weightSpread * maxScore
		default:
			scores[i] += weightSpread * (maxScore * (highest + lowest - raw[i]) / highest)
		}
	}
}

// defaultSpread is the spread of the pods of one controller.
var defaultSpread = []constraint{{key: corev1.LabelHostname, skew: 3}, {key: corev1.LabelTopologyZone, skew: 5}}

// spreadScores returns for each node the sum of the matching pods in its domains, weighted by the number of
// domains. If all is set, nodes that lack a label are ignored.
func (d *deciding) spreadScores(
	fitting []*Node, spread []constraint, countPods func(*constraint, *Node) int, all bool,
) (raw []int64, ignored []bool) {
	ignored = make([]bool, len(fitting))
	sums := make([]float64, len(fitting))
	hosts := 0
	for i, n := range fitting {
		if ignored[i] = all && !hasKeys(n, spread); !ignored[i] {
			hosts++
		}
	}
	for k := range spread {
		c := &spread[k]
		pods := d.countByDomain(c, fitting, ignored, countPods, all)
		domains := len(pods)
		if c.key == corev1.LabelHostname {
			domains = hosts
		}
		weight := math.Log(float64(domains + 2))
		for i, n := range fitting {
			domain, ok := n.Labels[c.key]
			if !ok || ignored[i] {
				continue
			}
			count := pods[domain]
			if c.key == corev1.LabelHostname {
				count = countPods(c, n)
			}
			sums[i] += float64(count)*weight + float64(c.skew-1)
		}
	}
	raw = make([]int64, len(fitting))
	for i, sum := range sums {
		raw[i] = int64(math.Round(sum))
	}
	return raw, ignored
}

// countByDomain returns the number of a constraint's pods in the domains of the fitting nodes, over all nodes. It
// returns none for the hostname label, for which the caller counts each node itself.
func (d *deciding) countByDomain(c *constraint, fitting []*Node, ignored []bool, countPods func(*constraint, *Node) int,
	all bool) map[string]int {
	pods := map[string]int{}
	if c.key == corev1.LabelHostname {
		return pods
	}
	for i, n := range fitting {
		if domain, ok := n.Labels[c.key]; ok && !ignored[i] {
			pods[domain] = 0
		}
	}
	if len(pods) == 0 {
		return pods
	}
	for _, n := range d.Nodes {
		domain, ok := n.Labels[c.key]
		if _, wanted := pods[domain]; !ok || !wanted || all && !c.counts(d.pod, n) {
			continue
		}
		pods[domain] += countPods(c, n)
	}
	return pods
}
