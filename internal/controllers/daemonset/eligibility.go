package daemonset

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// eligibility describes the nodes on which the pods of a template may run.
type eligibility struct {
	node        string // the template's spec.nodeName, or ""
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

func eligibilityOf(template *corev1.PodTemplateSpec) eligibility {
	spec := &template.Spec
	return eligibility{
		node: spec.NodeName, affinity: nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity),
		tolerations: templateTolerations(spec),
	}
}

// nodeMatch describes a node in relation to a template: whether the node exists, should get a pod
// (shouldRun), and may retain a running one (mayRun).
type nodeMatch struct{ exists, shouldRun, mayRun bool }

// match returns how a node matches. A NoSchedule taint prevents new pods but does not evict running ones.
func (p eligibility) match(node *corev1.Node) nodeMatch {
	if p.node != "" && p.node != node.Name {
		return nodeMatch{exists: true}
	}
	if fits, err := p.affinity.Match(node); !fits || err != nil {
		return nodeMatch{exists: true}
	}
	match := nodeMatch{exists: true, shouldRun: true, mayRun: true}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || p.tolerates(taint) {
			continue
		}
		match.shouldRun = false
		if taint.Effect == corev1.TaintEffectNoExecute {
			match.mayRun = false
		}
	}
	return match
}

func (p eligibility) tolerates(taint *corev1.Taint) bool {
	return slices.ContainsFunc(p.tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(klog.Logger{}, taint, false)
	})
}

// nodeConditionTaints lists the taints for a node's own conditions. Daemons tolerate them, since they are needed on
// unhealthy nodes too.
var nodeConditionTaints = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
}

// templateTolerations returns the tolerations of a template and those that all daemons have.
func templateTolerations(spec *corev1.PodSpec) []corev1.Toleration {
	all := slices.Clone(spec.Tolerations)
	add := func(t corev1.Toleration) {
		t.Operator = corev1.TolerationOpExists
		if i := slices.IndexFunc(all, func(has corev1.Toleration) bool { return t.MatchToleration(&has) }); i >= 0 {
			all[i] = t // replaces a toleration that is limited by tolerationSeconds
			return
		}
		all = append(all, t)
	}
	for _, t := range nodeConditionTaints {
		add(t)
	}
	if spec.HostNetwork { // pods in the host's network may be there to set up the node's network
		add(corev1.Toleration{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule})
	}
	return all
}

// restrictToNode restricts an affinity to one node and returns it. It replaces the template's required node affinity,
// which the caller has already matched against the node.
func restrictToNode(affinity *corev1.Affinity, node string) *corev1.Affinity {
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}
	return affinity
}

// targetNode returns the name of the node that a pod is bound to or that its affinity restricts it to, or "".
func targetNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil ||
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn &&
				len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// oldestFirst orders pods by preference for retaining them: bound pods first, then older ones.
func oldestFirst(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(bound(b), bound(a)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

func bound(pod *corev1.Pod) int {
	if pod.Spec.NodeName != "" {
		return 1
	}
	return 0
}

// sameEligibility reports whether two versions of a node match the same templates: their labels and taints are
// equal.
func sameEligibility(old, now *corev1.Node) bool {
	return equality.Semantic.DeepEqual(old.Labels, now.Labels) &&
		equality.Semantic.DeepEqual(old.Spec.Taints, now.Spec.Taints)
}
