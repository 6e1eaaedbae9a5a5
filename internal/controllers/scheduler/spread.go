package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"
)

// constraint says how unevenly pods may be spread over the values of a label of nodes.
type constraint struct {
	key    string
	skew   int
	least  int // domains, of which those that there are not have no pods
	pods   labels.Selector
	itself int // 1 when the pod is one of them
	// selected and tolerated say that only nodes count that the pod selects, and whose taints it tolerates.
	selected, tolerated bool
}

// constraints are those that must hold, and those that should.
func constraints(pod *corev1.Pod) (must, should []constraint) {
	for i := range pod.Spec.TopologySpreadConstraints {
		declared := &pod.Spec.TopologySpreadConstraints[i]
		c := constraint{
			key: declared.TopologyKey, skew: int(declared.MaxSkew), least: int(ptr.Deref(declared.MinDomains, 1)),
			pods:      spreadSelector(pod, declared),
			selected:  ptr.Deref(declared.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) == corev1.NodeInclusionPolicyHonor,
			tolerated: ptr.Deref(declared.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) == corev1.NodeInclusionPolicyHonor,
		}
		if c.pods.Matches(labels.Set(pod.Labels)) {
			c.itself = 1
		}
		if declared.WhenUnsatisfiable == corev1.DoNotSchedule {
			must = append(must, c)
		} else {
			should = append(should, c)
		}
	}
	return must, should
}

// spreadSelector selects the pods that are spread: of those with the labels that are named, which have the pod's values.
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

// means says whether a pod is one of those that are spread. What is ending leaves its place to others.
func (c *constraint) means(p, q *Pod) bool {
	return q.DeletionTimestamp == nil && q.Namespace == p.Namespace && !c.pods.Empty() && c.pods.Matches(labels.Set(q.Labels))
}

// counts says whether a node is one of those that pods are spread over.
func (c *constraint) counts(p *Pod, n *Node) bool {
	return (!c.selected || n.selected(p)) && (!c.tolerated || p.tolerates(n.Spec.Taints))
}

// hasKeys says whether a node has the labels of all constraints.
func hasKeys(n *Node, all []constraint) bool {
	for i := range all {
		if _, ok := n.Labels[all[i].key]; !ok {
			return false
		}
	}
	return true
}

// spreading is how the pods are spread that a pod must be spread with.
type spreading struct {
	pod   *Pod
	pods  []map[string]int // by constraint, and value of its label
	least []int            // by constraint, the fewest; negative when that has to be found out
}

func newSpreading(p *Pod, nodes []*Node) *spreading {
	s := &spreading{pod: p, pods: make([]map[string]int, len(p.even)), least: make([]int, len(p.even))}
	for i := range p.even {
		s.pods[i], s.least[i] = map[string]int{}, -1
	}
	for _, n := range nodes {
		if !hasKeys(n, p.even) {
			continue
		}
		for i := range p.even {
			c := &p.even[i]
			if !c.counts(p, n) {
				continue
			}
			domain := n.Labels[c.key]
			s.pods[i][domain] += 0 // an empty one is one too
			for _, q := range n.Pods {
				if c.means(p, q) {
					s.pods[i][domain]++
				}
			}
		}
	}
	return s
}

// count counts a pod that is on a node, or is not there any more.
func (s *spreading) count(q *Pod, n *Node, pods int) {
	if !hasKeys(n, s.pod.even) {
		return
	}
	for i := range s.pod.even {
		if c := &s.pod.even[i]; c.means(s.pod, q) && c.counts(s.pod, n) {
			s.pods[i][n.Labels[c.key]] += pods
			s.least[i] = -1
		}
	}
}

// fewest is how many pods the domain has that has the fewest.
func (s *spreading) fewest(i int) int {
	if s.least[i] >= 0 {
		return s.least[i]
	}
	fewest := -1
	for _, pods := range s.pods[i] {
		if fewest < 0 || pods < fewest {
			fewest = pods
		}
	}
	if len(s.pods[i]) < s.pod.even[i].least {
		fewest = 0
	}
	s.least[i] = max(fewest, 0)
	return s.least[i]
}

var (
	uneven  = &refusal{[]string{"node(s) didn't match pod topology spread constraints"}, false, forPods | forNode}
	nowhere = &refusal{[]string{"node(s) didn't match pod topology spread constraints (missing required label)"}, true, forNode}
)

// refuses is why a pod on the node would be one too many there; nil when it would not.
func (s *spreading) refuses(n *Node) *refusal {
	for i := range s.pod.even {
		c := &s.pod.even[i]
		domain, ok := n.Labels[c.key]
		if !ok {
			return nowhere
		}
		if s.pods[i][domain]+c.itself-s.fewest(i) > c.skew {
			return uneven
		}
	}
	return nil
}
