package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"
)

// constraint is a topology spread constraint.
type constraint struct {
	key        string
	skew       int
	minDomains int // minimum number of domains; missing ones count as empty
	pods       labels.Selector
	selfMatch  int // 1 if the pod matches its own constraint
	// selected excludes nodes that the pod's affinity does not match; tolerated excludes nodes with taints
	// that the pod does not tolerate.
	selected, tolerated bool
}

// constraints returns the required and the preferred constraints.
func constraints(pod *corev1.Pod) (required, preferred []constraint) {
	for i := range pod.Spec.TopologySpreadConstraints {
		declared := &pod.Spec.TopologySpreadConstraints[i]
		c := constraint{
			key: declared.TopologyKey, skew: int(declared.MaxSkew), minDomains: int(ptr.Deref(declared.MinDomains, 1)),
			pods: spreadSelector(pod, declared),
			selected: ptr.Deref(declared.NodeAffinityPolicy,
				corev1.NodeInclusionPolicyHonor) == corev1.NodeInclusionPolicyHonor,
			tolerated: ptr.Deref(declared.NodeTaintsPolicy,
				corev1.NodeInclusionPolicyIgnore) == corev1.NodeInclusionPolicyHonor,
		}
		if c.pods.Matches(labels.Set(pod.Labels)) {
			c.selfMatch = 1
		}
		if declared.WhenUnsatisfiable == corev1.DoNotSchedule {
			required = append(required, c)
		} else {
			preferred = append(preferred, c)
		}
	}
	return required, preferred
}

// spreadSelector returns the selector of a constraint, extended by matchLabelKeys.
func spreadSelector(pod *corev1.Pod, declared *corev1.TopologySpreadConstraint) labels.Selector {
	pods := selector(declared.LabelSelector)
	for _, key := range declared.MatchLabelKeys {
		if value, ok := pod.Labels[key]; ok {
			if same, err := labels.NewRequirement(key, selection.In, []string{value}); err == nil {
				pods = pods.Add(*same)
			}
		}
	}
	return pods
}

// matches reports whether a pod counts. Terminating pods do not.
func (c *constraint) matches(p, q *Pod) bool {
	return q.DeletionTimestamp == nil && q.Namespace == p.Namespace && !c.pods.Empty() &&
		c.pods.Matches(labels.Set(q.Labels))
}

// counts reports whether the pods of a node count.
func (c *constraint) counts(p *Pod, n *Node) bool {
	return (!c.selected || n.matchesSelector(p)) && (!c.tolerated || p.tolerates(n.Spec.Taints))
}

// hasKeys reports whether a node has the topology labels of all constraints.
func hasKeys(n *Node, all []constraint) bool {
	for i := range all {
		if _, ok := n.Labels[all[i].key]; !ok {
			return false
		}
	}
	return true
}

// spreading holds the pod counts for the required spread constraints of a pod.
type spreading struct {
	pod    *Pod
	pods   []map[string]int // by constraint and domain
	lowest []int            // by constraint, the lowest count of any domain; negative if not computed
}

func newSpreading(p *Pod, nodes []*Node) *spreading {
	s := &spreading{pod: p, pods: make([]map[string]int, len(p.requiredSpread)),
		lowest: make([]int, len(p.requiredSpread))}
	for i := range p.requiredSpread {
		s.pods[i], s.lowest[i] = map[string]int{}, -1
	}
	for _, n := range nodes {
		if !hasKeys(n, p.requiredSpread) {
			continue
		}
		for i := range p.requiredSpread {
			c := &p.requiredSpread[i]
			if !c.counts(p, n) {
				continue
			}
			domain := n.Labels[c.key]
			s.pods[i][domain] += 0 // an empty domain counts too
			for _, q := range n.Pods {
				if c.matches(p, q) {
					s.pods[i][domain]++
				}
			}
		}
	}
	return s
}

// count adjusts the counts for a pod that is on, or was removed from, a node.
func (s *spreading) count(q *Pod, n *Node, pods int) {
	if !hasKeys(n, s.pod.requiredSpread) {
		return
	}
	for i := range s.pod.requiredSpread {
		if c := &s.pod.requiredSpread[i]; c.matches(s.pod, q) && c.counts(s.pod, n) {
			s.pods[i][n.Labels[c.key]] += pods
			s.lowest[i] = -1
		}
	}
}

// fewest returns the lowest count of any domain.
func (s *spreading) fewest(i int) int {
	if s.lowest[i] >= 0 {
		return s.lowest[i]
	}
	fewest := -1
	for _, pods := range s.pods[i] {
		if fewest < 0 || pods < fewest {
			fewest = pods
		}
	}
	if len(s.pods[i]) < s.pod.requiredSpread[i].minDomains {
		fewest = 0
	}
	s.lowest[i] = max(fewest, 0)
	return s.lowest[i]
}

var (
	spreadUnmatched = &refusal{[]string{"node(s) didn't match pod topology spread constraints"}, false,
		forPods | forNode}
	spreadLabelMissing = &refusal{
		[]string{"node(s) didn't match pod topology spread constraints (missing required label)"}, true, forNode,
	}
)

// refuses returns why the pod would violate a constraint on the node; nil if it would not.
func (s *spreading) refuses(n *Node) *refusal {
	for i := range s.pod.requiredSpread {
		c := &s.pod.requiredSpread[i]
		domain, ok := n.Labels[c.key]
		if !ok {
			return spreadLabelMissing
		}
		if s.pods[i][domain]+c.selfMatch-s.fewest(i) > c.skew {
			return spreadUnmatched
		}
	}
	return nil
}
