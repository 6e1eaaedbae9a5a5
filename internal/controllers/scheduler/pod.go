package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Pod is a pod as decisions need it: what it asks of a node and of other pods, read once. It does not change.
type Pod struct {
	*corev1.Pod
	priority int32
	owner    types.UID // of its controller

	need, weight resources
	ports        []hostPort

	on      *nodeaffinity.LazyErrorNodeSelector // the nodes that its affinity asks for; nil for any
	names   map[string]bool                     // the only ones that that names; nil when it does not name all
	prefers *nodeaffinity.PreferredSchedulingTerms

	with, without []term       // the pods that must, and must not, be near
	likes         []term       // those that better were, by their weights; or were not, where that is negative
	even, evenly  []constraint // how pods must, and should, be spread
}

// NewPod reads a pod.
func NewPod(pod *corev1.Pod) *Pod {
	p := &Pod{Pod: pod, priority: schedulinghelper.PodPriority(pod), ports: hostPorts(pod)}
	if c := metav1.GetControllerOfNoCopy(pod); c != nil {
		p.owner = c.UID
	}
	p.need, p.weight = needs(pod)
	p.even, p.evenly = constraints(pod)
	a := pod.Spec.Affinity
	if a != nil && a.NodeAffinity != nil {
		p.nodeAffinity(a.NodeAffinity)
	}
	if a != nil && a.PodAffinity != nil {
		p.with = terms(pod, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		p.likes = weighted(pod, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, 1)
	}
	if a != nil && a.PodAntiAffinity != nil {
		p.without = terms(pod, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		p.likes = append(p.likes, weighted(pod, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, -1)...)
	}
	return p
}

func (p *Pod) nodeAffinity(a *corev1.NodeAffinity) {
	if len(a.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		// What cannot be read is preferred by nobody: the server has validated the rest.
		p.prefers, _ = nodeaffinity.NewPreferredSchedulingTerms(a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		p.on = nodeaffinity.NewLazyErrorNodeSelector(required)
		p.names = nodeNames(required.NodeSelectorTerms)
	}
}

// nodeNames are the only nodes that terms name, as those of a daemon's pod do. It is nil when one of them names none.
func nodeNames(terms []corev1.NodeSelectorTerm) map[string]bool {
	names := map[string]bool{}
	for _, term := range terms {
		named := false
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				named, names[field.Values[0]] = true, true
			}
		}
		if !named {
			return nil
		}
	}
	if len(names) == 0 {
		return nil
	}
	return names
}

// tolerates says whether none of some taints keeps the pod away.
func (p *Pod) tolerates(taints []corev1.Taint) bool {
	for i := range taints {
		if taints[i].Effect != corev1.TaintEffectPreferNoSchedule && !p.toleratesOne(&taints[i]) {
			return false
		}
	}
	return true
}

func (p *Pod) toleratesOne(taint *corev1.Taint) bool {
	return schedulinghelper.TolerationsTolerateTaint(klog.Logger{}, p.Spec.Tolerations, taint, false)
}

// disliked is how many taints would rather have the pod elsewhere.
func (p *Pod) disliked(taints []corev1.Taint) (count int64) {
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectPreferNoSchedule && !p.toleratesOne(&taints[i]) {
			count++
		}
	}
	return count
}

// neverPreempts says that a pod has nobody leave for it.
func (p *Pod) neverPreempts() bool {
	return p.Spec.PreemptionPolicy != nil && *p.Spec.PreemptionPolicy == corev1.PreemptNever
}
