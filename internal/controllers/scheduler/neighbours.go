package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// term says which pods are meant, and what near is: nodes with the same value of a label.
type term struct {
	pods       labels.Selector
	namespaces map[string]bool
	labelled   labels.Selector // more namespaces, by their labels; nil for none
	key        string
	weight     int64
}

// NamespaceLabels are those of a namespace.
type NamespaceLabels func(namespace string) labels.Set

func (t *term) means(pod *Pod, of NamespaceLabels) bool {
	if !t.namespaces[pod.Namespace] && (t.labelled == nil || !t.labelled.Matches(of(pod.Namespace))) {
		return false
	}
	return t.pods.Matches(labels.Set(pod.Labels))
}

func terms(pod *corev1.Pod, declared []corev1.PodAffinityTerm) (read []term) {
	for i := range declared {
		read = append(read, readTerm(pod, &declared[i], 1))
	}
	return read
}

func weighted(pod *corev1.Pod, declared []corev1.WeightedPodAffinityTerm, sign int64) (read []term) {
	for i := range declared {
		read = append(read, readTerm(pod, &declared[i].PodAffinityTerm, sign*int64(declared[i].Weight)))
	}
	return read
}

func readTerm(pod *corev1.Pod, declared *corev1.PodAffinityTerm, weight int64) term {
	t := term{pods: selector(declared.LabelSelector), namespaces: map[string]bool{}, key: declared.TopologyKey, weight: weight}
	for _, namespace := range declared.Namespaces {
		t.namespaces[namespace] = true
	}
	if declared.NamespaceSelector != nil {
		t.labelled = selector(declared.NamespaceSelector)
	} else if len(declared.Namespaces) == 0 {
		t.namespaces[pod.Namespace] = true
	}
	return t
}

// selector reads one. What cannot be read, as what is not there, selects nothing.
func selector(declared *metav1.LabelSelector) labels.Selector {
	s, err := metav1.LabelSelectorAsSelector(declared)
	if err != nil {
		return labels.Nothing()
	}
	return s
}

// counts are how many pods there are at places: by the label that says what a place is, and by its value.
type counts map[string]map[string]int64

// count adds so many pods on a node to the place that it is in by a label.
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

// at is how many there are where a node is by a label.
func (c counts) at(n *Node, key string) int64 {
	if value, ok := n.Labels[key]; ok {
		return c[key][value]
	}
	return 0
}

// neighbours is what a pod and those that are there have to say about each other.
type neighbours struct {
	pod        *Pod
	namespaces NamespaceLabels
	// wanted and unwanted are the pods that it must, and must not, be near to; resenting those that must not be near to it.
	wanted, unwanted, resenting counts
}

// newNeighbours looks at the pods of all nodes, or where the pod does not mind at those that do.
func newNeighbours(p *Pod, nodes []*Node, namespaces NamespaceLabels) *neighbours {
	b := &neighbours{pod: p, namespaces: namespaces, wanted: counts{}, unwanted: counts{}, resenting: counts{}}
	minds := len(p.with)+len(p.without) > 0
	for _, n := range nodes {
		pods := n.apart
		if minds {
			pods = n.Pods
		}
		for _, q := range pods {
			b.count(q, n, 1)
		}
	}
	return b
}

// count counts a pod that is on a node, or is not there any more.
func (b *neighbours) count(q *Pod, n *Node, pods int64) {
	if len(b.pod.with) > 0 && allMean(b.pod.with, q, b.namespaces) {
		for i := range b.pod.with {
			b.wanted.count(n, b.pod.with[i].key, pods)
		}
	}
	for i := range b.pod.without {
		if t := &b.pod.without[i]; t.means(q, b.namespaces) {
			b.unwanted.count(n, t.key, pods)
		}
	}
	for i := range q.without {
		if t := &q.without[i]; t.means(b.pod, b.namespaces) {
			b.resenting.count(n, t.key, pods)
		}
	}
}

func allMean(terms []term, q *Pod, namespaces NamespaceLabels) bool {
	for i := range terms {
		if !terms[i].means(q, namespaces) {
			return false
		}
	}
	return true
}

var (
	lonely   = &refusal{[]string{"node(s) didn't match pod affinity rules"}, true, forPods | forNode}
	crowded  = &refusal{[]string{"node(s) didn't match pod anti-affinity rules"}, false, forPods | forNode}
	resented = &refusal{[]string{"node(s) didn't satisfy existing pods anti-affinity rules"}, false, forPods | forNode}
)

// refuses is why a node is no good place among others; nil when it is.
func (b *neighbours) refuses(n *Node) *refusal {
	if !b.isWith(n) {
		return lonely
	}
	for i := range b.pod.without {
		if b.unwanted.at(n, b.pod.without[i].key) > 0 {
			return crowded
		}
	}
	for key := range b.resenting {
		if b.resenting.at(n, key) > 0 {
			return resented
		}
	}
	return nil
}

// isWith says whether the pods that the pod must be near to are. The first of a group that wants to be near itself may be
// anywhere.
func (b *neighbours) isWith(n *Node) bool {
	near := true
	for i := range b.pod.with {
		key := b.pod.with[i].key
		if _, ok := n.Labels[key]; !ok {
			return false
		}
		near = near && b.wanted.at(n, key) > 0
	}
	return near || len(b.wanted) == 0 && allMean(b.pod.with, b.pod, b.namespaces)
}

// hardWeight is how much a pod that must be near another one is liked by that.
const hardWeight = 1

// liking is how much better a pod would be at each place: what it likes, and who likes it.
func liking(p *Pod, nodes []*Node, namespaces NamespaceLabels) counts {
	liked := counts{}
	for _, n := range nodes {
		pods := n.minding
		if len(p.likes) > 0 {
			pods = n.Pods
		}
		for _, q := range pods {
			for i := range p.likes {
				if t := &p.likes[i]; t.means(q, namespaces) {
					liked.count(n, t.key, t.weight)
				}
			}
			for i := range q.likes {
				if t := &q.likes[i]; t.means(p, namespaces) {
					liked.count(n, t.key, t.weight)
				}
			}
			for i := range q.with {
				if t := &q.with[i]; t.means(p, namespaces) {
					liked.count(n, t.key, hardWeight)
				}
			}
		}
	}
	return liked
}
