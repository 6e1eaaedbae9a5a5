package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Pod is a pod with the parsed form of what scheduling needs. It is immutable.
type Pod struct {
	*corev1.Pod
	priority int32
	owner    types.UID // uid of the controller

	requests, scored resources
	ports            []hostPort

	nodeSelector *nodeaffinity.LazyErrorNodeSelector // required node affinity; nil for any node
	// the only nodes that it can match; nil if it is not restricted by name
	nodeNames      map[string]bool
	preferredNodes *nodeaffinity.PreferredSchedulingTerms

	affinity, antiAffinity          []term       // required pod affinity and anti-affinity
	preferredPods                   []term       // preferred pod affinity; the weights of anti-affinity are negative
	requiredSpread, preferredSpread []constraint // required and preferred topology spread
}

// NewPod parses a pod.
func NewPod(pod *corev1.Pod) *Pod {
	p := &Pod{Pod: pod, priority: schedulinghelper.PodPriority(pod), ports: hostPorts(pod)}
	if c := metav1.GetControllerOfNoCopy(pod); c != nil {
		p.owner = c.UID
	}
	p.requests, p.scored = needs(pod)
	p.requiredSpread, p.preferredSpread = constraints(pod)
	a := pod.Spec.Affinity
	if a != nil && a.NodeAffinity != nil {
		p.nodeAffinity(a.NodeAffinity)
	}
	if a != nil && a.PodAffinity != nil {
		p.affinity = terms(pod, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		p.preferredPods = weighted(pod, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, 1)
	}
	if a != nil && a.PodAntiAffinity != nil {
		p.antiAffinity = terms(pod, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		p.preferredPods = append(p.preferredPods,
			weighted(pod, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, -1)...)
	}
	return p
}

func (p *Pod) nodeAffinity(a *corev1.NodeAffinity) {
	if len(a.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		// Ignore the error: invalid terms score nothing, and the server has validated the rest.
		p.preferredNodes, _ = nodeaffinity.NewPreferredSchedulingTerms(a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		p.nodeSelector = nodeaffinity.NewLazyErrorNodeSelector(required)
		p.nodeNames = nodeNames(required.NodeSelectorTerms)
	}
}

// nodeNames returns the node names that selector terms are restricted to, as in the pods of a DaemonSet. It
// returns nil if any term does not name a node.
func nodeNames(terms []corev1.NodeSelectorTerm) map[string]bool {
	names := map[string]bool{}
	for _, term := range terms {
		named := false
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn &&
				len(field.Values) == 1 {
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

// tolerates reports whether the pod tolerates all taints that exclude pods.
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

// preferNoScheduleTaints returns the number of untolerated PreferNoSchedule taints.
func (p *Pod) preferNoScheduleTaints(taints []corev1.Taint) (count int64) {
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectPreferNoSchedule && !p.toleratesOne(&taints[i]) {
			count++
		}
	}
	return count
}

// neverPreempts reports whether the pod's preemption policy is Never.
func (p *Pod) neverPreempts() bool {
	return p.Spec.PreemptionPolicy != nil && *p.Spec.PreemptionPolicy == corev1.PreemptNever
}
