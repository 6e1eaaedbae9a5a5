package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// verdict is the result of a job's failure policy for a failed pod.
type verdict struct {
	action batchv1.PodFailurePolicyAction // empty if no rule matches
	// message is why the whole job fails; empty if it does not.
	message string
}

// counts reports whether the failure counts towards the backoff limit.
func (v verdict) counts() bool { return v.action != batchv1.PodFailurePolicyActionIgnore }

// judge returns the verdict of the first rule that matches a failed pod. Without a policy each failure
// counts.
func judge(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) verdict {
	if policy == nil {
		return verdict{}
	}
	for i := range policy.Rules {
		rule := &policy.Rules[i]
		why := matches(rule, pod)
		if why == "" {
			continue
		}
		v := verdict{action: rule.Action}
		if rule.Action == batchv1.PodFailurePolicyActionFailJob {
			v.message = fmt.Sprintf("%s matching %v rule at index %d", why, rule.Action, i)
		}
		return v
	}
	return verdict{}
}

// matches returns why a rule matches a pod, or the empty string.
func matches(rule *batchv1.PodFailurePolicyRule, pod *corev1.Pod) string {
	if on := rule.OnExitCodes; on != nil {
		for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
			if c.State.Terminated != nil && exits(on, &c) {
				return fmt.Sprintf("Container %s for pod %s/%s failed with exit code %v", c.Name, pod.Namespace,
					pod.Name, c.State.Terminated.ExitCode)
			}
		}
		return ""
	}
	for _, c := range pod.Status.Conditions {
		for _, on := range rule.OnPodConditions {
			if c.Type == on.Type && c.Status == on.Status {
				return fmt.Sprintf("Pod %s/%s has condition %v", pod.Namespace, pod.Name, c.Type)
			}
		}
	}
	return ""
}

// exits reports whether the exit code of a terminated container matches a rule.
func exits(on *batchv1.PodFailurePolicyOnExitCodesRequirement, c *corev1.ContainerStatus) bool {
	code := c.State.Terminated.ExitCode
	if code == 0 || on.ContainerName != nil && *on.ContainerName != c.Name {
		return false
	}
	return slices.Contains(on.Values, code) == (on.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn)
}

// succeeds reports whether the completed indexes satisfy a rule of a success policy, and which one.
func succeeds(policy *batchv1.SuccessPolicy, completed indexes, completions int) (message string, met bool) {
	if policy == nil || len(completed) == 0 {
		return "", false
	}
	for i, rule := range policy.Rules {
		matched := completed.count()
		if rule.SucceededIndexes != nil {
			wanted := parseIndexes(*rule.SucceededIndexes, completions)
			if len(wanted) == 0 {
				continue
			}
			matched = completed.common(wanted)
			met = matched == wanted.count()
		}
		if met || rule.SucceededCount != nil && matched >= int(*rule.SucceededCount) {
			return fmt.Sprintf("Matched rules at index %d", i), true
		}
	}
	return "", false
}
