package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// term is a pod affinity term: which pods it matches, and the node label whose values define the topology domains.
type term struct {
	pods              labels.Selector
	namespaces        map[string]bool
	namespaceSelector labels.Selector // further namespaces, by label; nil for none
	key               string
	weight            int64
}

// NamespaceLabels returns the labels of a namespace.
type NamespaceLabels func(namespace string) labels.Set

func (t *term) matches(pod *Pod, of NamespaceLabels) bool {
	if !t.namespaces[pod.Namespace] && (t.namespaceSelector == nil || !t.namespaceSelector.Matches(of(pod.Namespace))) {
		return false
	}
	return t.pods.Matches(labels.Set(pod.Labels))
}

func terms(pod *corev1.Pod, declared []corev1.PodAffinityTerm) (parsed []term) {
	for i := range declared {
		parsed = append(parsed, readTerm(pod, &declared[i], 1))
	}
	return parsed
}

func weighted(pod *corev1.Pod, declared []corev1.WeightedPodAffinityTerm, sign int64) (parsed []term) {
	for i := range declared {
		parsed = append(parsed, readTerm(pod, &declared[i].PodAffinityTerm, sign*int64(declared[i].Weight)))
	}
	return parsed
}

func readTerm(pod *corev1.Pod, declared *corev1.PodAffinityTerm, weight int64) term {
	t := term{pods: selector(declared.LabelSelector), namespaces: map[string]bool{}, key: declared.TopologyKey,
		weight: weight}
	for _, namespace := range declared.Namespaces {
		t.namespaces[namespace] = true
	}
	if declared.NamespaceSelector != nil {
		t.namespaceSelector = selector(declared.NamespaceSelector)
	} else if len(declared.Namespaces) == 0 {
		t.namespaces[pod.Namespace] = true
	}
	return t
}

// selector parses a label selector. A nil or invalid one selects nothing.
func selector(declared *metav1.LabelSelector) labels.Selector {
	s, err := metav1.LabelSelectorAsSelector(declared)
	if err != nil {
		return labels.Nothing()
	}
	return s
}

// counts counts pods per topology domain: by label key, then by label value.
type counts map[string]map[string]int64

// count adds pods to the domain of a node.
func (c counts) count(n *Node, key string, pods int64) {
	value, ok := n.Labels[key]
	if !ok {
		return
	}
	at := c[key]
	if at == nil {
		at = map[string]int64{}
		c[key] = at
	}
	if at[value] += pods; at[value] != 0 {
		return
	}
	if delete(at, value); len(at) == 0 {
		delete(c, key)
	}
}

// at returns the count for the domain of a node.
func (c counts) at(n *Node, key string) int64 {
	if value, ok := n.Labels[key]; ok {
		return c[key][value]
	}
	return 0
}

// podAffinity holds the required affinity between a pod and the existing pods.
type podAffinity struct {
	pod        *Pod
	namespaces NamespaceLabels
	// affinityCounts and antiAffinityCounts count the existing pods that match the pod's terms;
	// existingAntiAffinityCounts counts those with an anti-affinity term that matches the pod.
	affinityCounts, antiAffinityCounts, existingAntiAffinityCounts counts
}

// newPodAffinity evaluates the pods of all nodes, or only those with anti-affinity if the pod itself has no
// required terms.
func newPodAffinity(p *Pod, nodes []*Node, namespaces NamespaceLabels) *podAffinity {
	b := &podAffinity{pod: p, namespaces: namespaces, affinityCounts: counts{}, antiAffinityCounts: counts{},
		existingAntiAffinityCounts: counts{}}
	hasTerms := len(p.affinity)+len(p.antiAffinity) > 0
	for _, n := range nodes {
		pods := n.antiAffinity
		if hasTerms {
			pods = n.Pods
		}
		for _, q := range pods {
			b.count(q, n, 1)
		}
	}
	return b
}

// count adjusts the counts for a pod that is on, or was removed from, a node.
func (b *podAffinity) count(q *Pod, n *Node, pods int64) {
	if len(b.pod.affinity) > 0 && allMatch(b.pod.affinity, q, b.namespaces) {
		for i := range b.pod.affinity {
			b.affinityCounts.count(n, b.pod.affinity[i].key, pods)
		}
	}
	for i := range b.pod.antiAffinity {
		if t := &b.pod.antiAffinity[i]; t.matches(q, b.namespaces) {
			b.antiAffinityCounts.count(n, t.key, pods)
		}
	}
	for i := range q.antiAffinity {
		if t := &q.antiAffinity[i]; t.matches(b.pod, b.namespaces) {
			b.existingAntiAffinityCounts.count(n, t.key, pods)
		}
	}
}

func allMatch(terms []term, q *Pod, namespaces NamespaceLabels) bool {
	for i := range terms {
		if !terms[i].matches(q, namespaces) {
			return false
		}
	}
	return true
}

var (
	affinityUnmatched     = &refusal{[]string{"node(s) didn't match pod affinity rules"}, true, forPods | forNode}
	antiAffinityUnmatched = &refusal{[]string{"node(s) didn't match pod anti-affinity rules"}, false, forPods | forNode}
	existingAntiAffinity  = &refusal{[]string{"node(s) didn't satisfy existing pods anti-affinity rules"}, false,
		forPods | forNode}
)

// refuses returns why pod affinity excludes a node; nil if it does not.
func (b *podAffinity) refuses(n *Node) *refusal {
	if !b.satisfiesAffinity(n) {
		return affinityUnmatched
	}
	for i := range b.pod.antiAffinity {
		if b.antiAffinityCounts.at(n, b.pod.antiAffinity[i].key) > 0 {
			return antiAffinityUnmatched
		}
	}
	for key := range b.existingAntiAffinityCounts {
		if b.existingAntiAffinityCounts.at(n, key) > 0 {
			return existingAntiAffinity
		}
	}
	return nil
}

// satisfiesAffinity reports whether the required affinity terms are met. The first pod of a group with affinity to
// itself may go anywhere.
func (b *podAffinity) satisfiesAffinity(n *Node) bool {
	near := true
	for i := range b.pod.affinity {
		key := b.pod.affinity[i].key
		if _, ok := n.Labels[key]; !ok {
			return false
		}
		near = near && b.affinityCounts.at(n, key) > 0
	}
	return near || len(b.affinityCounts) == 0 && allMatch(b.pod.affinity, b.pod, b.namespaces)
}

// hardWeight is the score of a required affinity term of an existing pod that matches the pod being scheduled.
const hardWeight = 1

// preferenceScores returns the preferred-affinity score per domain, from the terms of the pod and of the existing pods.
func preferenceScores(p *Pod, nodes []*Node, namespaces NamespaceLabels) counts {
	scores := counts{}
	for _, n := range nodes {
		pods := n.affinity
		if len(p.preferredPods) > 0 {
			pods = n.Pods
		}
		for _, q := range pods {
			for i := range p.preferredPods {
				if t := &p.preferredPods[i]; t.matches(q, namespaces) {
					scores.count(n, t.key, t.weight)
				}
			}
			for i := range q.preferredPods {
				if t := &q.preferredPods[i]; t.matches(p, namespaces) {
					scores.count(n, t.key, t.weight)
				}
			}
			for i := range q.affinity {
				if t := &q.affinity[i]; t.matches(p, namespaces) {
					scores.count(n, t.key, hardWeight)
				}
			}
		}
	}
	return scores
}
