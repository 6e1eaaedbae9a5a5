package nodelifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
)

// Grace is how long a node may be silent before its conditions become Unknown; startupGrace applies to a node
// that has not reported its status yet.
const (
	Grace        = 50 * time.Second
	startupGrace = time.Minute
)

func grace(node *corev1.Node) time.Duration {
	if hasCondition(node, corev1.NodeReady) {
		return Grace
	}
	return startupGrace
}

// conditions are the types that become Unknown when a node is silent.
var conditions = []corev1.NodeConditionType{
	corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
}

// UnknownConditions returns the conditions of a node that has been silent for too long, and whether they differ from
// its current ones.
func UnknownConditions(node *corev1.Node, now time.Time) (all []corev1.NodeCondition, changed bool) {
	all = slices.Clone(node.Status.Conditions)
	at := metav1.NewTime(now).Rfc3339Copy()
	for _, kind := range conditions {
		i := slices.IndexFunc(all, func(c corev1.NodeCondition) bool { return c.Type == kind })
		switch {
		case i < 0:
			changed = true
			all = append(all, corev1.NodeCondition{
				Type: kind, Status: corev1.ConditionUnknown, Reason: "NodeStatusNeverUpdated",
				Message: "Kubelet never posted node status.", LastHeartbeatTime: node.CreationTimestamp,
				LastTransitionTime: at,
			})
		case all[i].Status != corev1.ConditionUnknown:
			changed = true
			all[i].Status, all[i].LastTransitionTime = corev1.ConditionUnknown, at
			all[i].Reason, all[i].Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
		}
	}
	return all, changed
}

// byCondition lists the taints that conditions cause.
var byCondition = []struct {
	kind corev1.NodeConditionType
	is   corev1.ConditionStatus
	key  string
}{
	{corev1.NodeReady, corev1.ConditionFalse, corev1.TaintNodeNotReady},
	{corev1.NodeReady, corev1.ConditionUnknown, corev1.TaintNodeUnreachable},
	{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.TaintNodeMemoryPressure},
	{corev1.NodeDiskPressure, corev1.ConditionTrue, corev1.TaintNodeDiskPressure},
	{corev1.NodeNetworkUnavailable, corev1.ConditionTrue, corev1.TaintNodeNetworkUnavailable},
	{corev1.NodePIDPressure, corev1.ConditionTrue, corev1.TaintNodePIDPressure},
}

// Taints returns the taints that a node should have: foreign ones, and those that its conditions require.
// Taints that the node already has are unchanged.
func Taints(node *corev1.Node, now time.Time) []corev1.Taint {
	var wanted []corev1.Taint
	for _, rule := range byCondition {
		if statusOf(node, rule.kind) != rule.is {
			continue
		}
		wanted = append(wanted, corev1.Taint{Key: rule.key, Effect: corev1.TaintEffectNoSchedule})
		if rule.kind == corev1.NodeReady && hasCondition(node, rule.kind) {
			at := metav1.NewTime(now).Rfc3339Copy()
			wanted = append(wanted, corev1.Taint{Key: rule.key, Effect: corev1.TaintEffectNoExecute, TimeAdded: &at})
		}
	}
	if node.Spec.Unschedulable {
		wanted = append(wanted, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	var taints []corev1.Taint
	for _, has := range node.Spec.Taints {
		if !isManaged(has) || contains(wanted, has) {
			taints = append(taints, has)
		}
	}
	for _, want := range wanted {
		if !contains(taints, want) {
			taints = append(taints, want)
		}
	}
	return taints
}

// hasCondition reports whether a node has a condition. A node without the condition Ready gets no new pods, but
// its existing pods are not evicted.
func hasCondition(node *corev1.Node, kind corev1.NodeConditionType) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
}

// statusOf returns the status of a condition, False if the node does not have it.
func statusOf(node *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == kind {
			return c.Status
		}
	}
	return corev1.ConditionFalse
}

// isManaged reports whether the controller manages a taint.
func isManaged(taint corev1.Taint) bool {
	for _, rule := range byCondition {
		if taint.Key == rule.key {
			return taint.Effect == corev1.TaintEffectNoSchedule || rule.kind == corev1.NodeReady &&
				taint.Effect == corev1.TaintEffectNoExecute
		}
	}
	return taint.Key == corev1.TaintNodeUnschedulable && taint.Effect == corev1.TaintEffectNoSchedule
}

func contains(taints []corev1.Taint, one corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(&one) })
}

// EvictAt returns when a pod must be evicted because of its node's NoExecute taints. For an untolerated taint,
// that is at once; for others, when the tolerationSeconds have passed since the taint was added and the pod
// was bound, whichever was later. ok is false if the pod may stay.
func EvictAt(pod *corev1.Pod, taints []corev1.Taint, since func(*corev1.Taint) time.Time) (at time.Time, ok bool) {
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		leave, limited := toleratedUntil(pod, taint, later(since(taint), boundAt(pod)))
		if limited && (!ok || leave.Before(at)) {
			at, ok = leave, true
		}
	}
	return at, ok
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// boundAt returns when a pod was bound to its node, or else its creation time.
func boundAt(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// toleratedUntil returns until when a pod tolerates a taint, by its first matching toleration. limited is
// false if it tolerates the taint forever.
func toleratedUntil(pod *corev1.Pod, taint *corev1.Taint, since time.Time) (until time.Time, limited bool) {
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		if !tolerates(t, taint) {
			continue
		}
		if t.TolerationSeconds == nil {
			return time.Time{}, false
		}
		return since.Add(bounded.Seconds(*t.TolerationSeconds)), true
	}
	return since, true
}

func tolerates(t *corev1.Toleration, taint *corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == corev1.TolerationOpExists || (t.Operator == "" || t.Operator == corev1.TolerationOpEqual) &&
		t.Value == taint.Value
}
