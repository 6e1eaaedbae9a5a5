package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestFirstMatchingFailureRuleApplies(t *testing.T) {
	t.Parallel()
	rule := func(action batchv1.PodFailurePolicyAction, container *string,
		op batchv1.PodFailurePolicyOnExitCodesOperator, codes ...int32) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{Action: action,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: container, Operator: op, Values: codes,
			}}
	}
	condition := batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
		}}
	const in, notIn = batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn
	for _, c := range []struct {
		name      string
		rules     []batchv1.PodFailurePolicyRule
		code      int32
		disrupted bool
		want      batchv1.PodFailurePolicyAction
		message   string
	}{
		{"no rule", nil, 1, false, "", ""},
		{"listed exit code", []batchv1.PodFailurePolicyRule{rule("FailJob", nil, in, 1, 42)}, 42, false, "FailJob",
			"Container c for pod default/p failed with exit code 42 matching FailJob rule at index 0"},
		{"unlisted exit code", []batchv1.PodFailurePolicyRule{rule("FailJob", nil, in, 1)}, 42, false, "", ""},
		{"NotIn", []batchv1.PodFailurePolicyRule{rule("FailIndex", nil, notIn, 1)}, 42, false, "FailIndex",
			""},
		{"NotIn, exit code 0", []batchv1.PodFailurePolicyRule{rule("FailIndex", nil, notIn, 1)}, 0, false, "", ""},
		{"exit code of another container", []batchv1.PodFailurePolicyRule{rule("FailJob", ptr.To("d"), in, 42)}, 42,
			false, "",
			""},
		{"pod condition", []batchv1.PodFailurePolicyRule{condition}, 42, true, "Ignore", ""},
		{"two matching rules", []batchv1.PodFailurePolicyRule{rule("Count", nil, in, 42), condition}, 42, true, "Count",
			""},
	} {
		pod := &corev1.Pod{}
		pod.Name, pod.Namespace = "p", "default"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: c.code}}},
			{Name: "runs"},
		}
		if c.disrupted {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
		}
		v := judge(&batchv1.PodFailurePolicy{Rules: c.rules}, pod)
		if v.action != c.want || v.message != c.message || v.counts() != (c.want != "Ignore") {
			t.Errorf("%s: got %+v, want action %q, message %q", c.name, v, c.want, c.message)
		}
	}
}

func TestSuccessPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		indexes *string
		count   *int32
		done    string
		met     bool
	}{
		{ptr.To("0"), nil, "", false},
		{ptr.To("0"), nil, "0,3", true},
		{ptr.To("0,2-4"), nil, "0,2,3", false},
		{ptr.To("0,2-4"), ptr.To[int32](3), "0,2,3", true},
		{nil, ptr.To[int32](2), "7", false},
		{nil, ptr.To[int32](2), "7,9", true},
		{ptr.To("90-99"), ptr.To[int32](1), "0-9", false},
		{ptr.To("90-99"), new(int32), "0-9", false},
	} {
		rule := batchv1.SuccessPolicyRule{SucceededIndexes: c.indexes, SucceededCount: c.count}
		message, met := succeeds(&batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{rule}},
			parseIndexes(c.done, 10), 10)
		if met != c.met || met && message != "Matched rules at index 0" {
			t.Errorf("indexes %v, count %v, completed %s: got %t, %q, want %t", c.indexes, c.count, c.done, met,
				message, c.met)
		}
	}
}
