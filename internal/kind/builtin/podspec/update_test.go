package podspec

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// updateRule is a validation rule for updates of pods.
type updateRule struct {
	rule, source string
	// was and is are YAML that is merged into the spec of a valid pod, before and after the update.
	was, is string
	// want is the start of the message: recordings cover the differences of whole specs.
	want string
}

const mayNotChange = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"

func TestPodUpdateRules(t *testing.T) {
	t.Parallel()
	for _, r := range []updateRule{
		{"an image may change", "ValidatePodUpdate, configmap-patch.json[27]", ``, `containers: [{name: c, image: i2}]`,
			``},
		{"containers stay", "ValidateContainerUpdates, configmap-patch.json[29]", ``,
			`containers: [{name: c, image: i}, {name: d, image: i}]`,
			`spec.containers: Forbidden: pod updates may not add or remove containers`},
		{"init containers stay", "ValidateContainerUpdates", ``, `initContainers: [{name: d, image: i}]`,
			`spec.initContainers: Forbidden: pod updates may not add or remove containers`},
		{"a restart policy stays", "ValidatePodUpdate, pods.json[32]", ``, `restartPolicy: Never`, mayNotChange},
		{"a node is not chosen by an update", "ValidatePodUpdate, configmap-patch.json[33]", ``, `nodeName: n`,
			mayNotChange},
		{"a deadline may be set", "ValidatePodUpdate, pods.json[31]", ``, `activeDeadlineSeconds: 10`, ``},
		{"a deadline may come closer", "ValidatePodUpdate", `activeDeadlineSeconds: 10`, `activeDeadlineSeconds: 5`,
			``},
		{"a deadline does not move away", "ValidatePodUpdate", `activeDeadlineSeconds: 5`, `activeDeadlineSeconds: 10`,
			`spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value`},
		{"a deadline does not go away", "ValidatePodUpdate", `activeDeadlineSeconds: 5`, `activeDeadlineSeconds: null`,
			`spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value`},
		{"a toleration may be added", "validateOnlyAddedTolerations, configmap-patch.json[32]", ``,
			`tolerations: [{key: k, operator: Exists}]`, ``},
		{"a toleration stays", "validateOnlyAddedTolerations", `tolerations: [{key: k, operator: Exists}]`,
			`tolerations: []`,
			`spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds`},
		{"a toleration's time may change", "validateOnlyAddedTolerations",
			`tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 1}]`,
			`tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 2}]`, ``},
		{"a gate may go", "validateOnlyDeletedSchedulingGates", `schedulingGates: [{name: a}, {name: b}]`,
			`schedulingGates: [{name: b}]`, ``},
		{"a gate does not come", "validateOnlyDeletedSchedulingGates", `schedulingGates: [{name: a}]`,
			`schedulingGates: [{name: a}, {name: b}]`,
			`spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'`},
		{"who waits may be narrowed", "validateNodeSelectorMutation",
			`{schedulingGates: [{name: a}], nodeSelector: {a: b}}`, `nodeSelector: {a: b, c: d}`, ``},
		{"who waits is not widened", "validateNodeSelectorMutation",
			`{schedulingGates: [{name: a}], nodeSelector: {a: b}}`, `nodeSelector: {a: c}`,
			`spec.nodeSelector: Invalid value: {"a":"c"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)`},
		{"who does not wait keeps its selector", "ValidatePodUpdate", `nodeSelector: {a: b}`,
			`nodeSelector: {a: b, c: d}`, mayNotChange},
		{"who waits may get a term's part", "validateNodeAffinityMutation",
			`{schedulingGates: [{name: a}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}}`,
			`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}, {key: b, operator: Exists}]}]}}}`, ``},
		{"who waits gets no further term", "validateNodeAffinityMutation",
			`{schedulingGates: [{name: a}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}}`,
			`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}, {matchExpressions: [{key: b, operator: Exists}]}]}}}`,
			`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: `},
		{"resources stay", "ValidatePodUpdate", ``,
			`containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]`, mayNotChange},
		{"pod-level resources stay", "ValidatePodUpdate", `resources: {requests: {cpu: "1"}}`,
			`resources: {requests: {cpu: "2"}}`, mayNotChange},
		{"ephemeral containers are not added", "ValidatePodUpdate", ``, `ephemeralContainers: [{name: e, image: i}]`,
			mayNotChange},
		{"ephemeral containers are not removed", "ValidatePodUpdate", `ephemeralContainers: [{name: e, image: i}]`,
			`ephemeralContainers: null`, mayNotChange},
		{"a resize policy that restarts an init container may stay", "validateInitContainers",
			`initContainers: [{name: a, image: i, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]`,
			`activeDeadlineSeconds: 5`, ``},
		{"another grace period stays", "ValidatePodUpdate", `terminationGracePeriodSeconds: 5`,
			`terminationGracePeriodSeconds: 1`, mayNotChange},
	} {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			old := podRule{spec: r.was}.pod(t)
			pod := old.DeepCopy()
			overlay(t, r.is, &pod.Spec)
			Default(pod)
			got := text(Validate(pod, old, ""))
			if r.want == "" && got != "" || !strings.HasPrefix(got, r.want) {
				t.Errorf("%s (%s):\n got %s\nwant %s", r.rule, r.source, got, r.want)
			}
		})
	}
}

func TestMirrorAnnotationIsImmutable(t *testing.T) {
	t.Parallel()
	old := podRule{}.pod(t)
	pod := old.DeepCopy()
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	pod.Spec.NodeName, old.Spec.NodeName = "n", "n"
	want := `metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation`
	if got := text(Validate(pod, old, "")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPodAnnotationRules(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ source, key, value, want string }{
		{"ValidatePodSpecificAnnotations", corev1.MirrorPodAnnotationKey, "x",
			`metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set`},
		{"GetDeletionCostFromPodAnnotations", corev1.PodDeletionCost, "+1",
			`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer`},
		{"ValidateSeccompProfile", corev1.SeccompPodAnnotationKey, "x",
			`metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": must be a valid seccomp profile`},
		{"ValidateAppArmorPodAnnotations", corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "x",
			"unconfined",
			`metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: "x": container not found`},
	} {
		pod := podRule{}.pod(t)
		pod.Annotations = map[string]string{r.key: r.value}
		if got := text(Validate(pod, nil, "")); got != r.want {
			t.Errorf("%s (%s):\n got %s\nwant %s", r.key, r.source, got, r.want)
		}
	}
}

func TestPodStatusRules(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ rule, source, spec, was, is, want string }{
		{"a class of service stays", "ValidatePodStatusUpdate", ``, `qosClass: BestEffort`, `qosClass: Guaranteed`,
			`status.qosClass: Invalid value: "Guaranteed": field is immutable`},
		{"a condition has a name", "validatePodConditions", ``, ``, `conditions: [{type: "a b", status: "True"}]`,
			`status.conditions[0].Type: Invalid value: "a b": ` + qualifiedError},
		{"an address is one", "validatePodIPs", ``, ``, `podIPs: [{ip: x}]`,
			`status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"a pod has one address of each family", "validatePodIPs", ``, ``, `podIPs: [{ip: 1.1.1.1}, {ip: 1.1.1.2}]`,
			`status.podIPs: Invalid value: [{"IP":"1.1.1.1"},{"IP":"1.1.1.2"}]: may specify no more than one IP for each IP family`},
		{"an address that is none has no family", "validatePodIPs", ``, ``, `podIPs: [{ip: 1.1.1.1}, {ip: x}]`,
			`[status.podIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff), ` +
				`status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: x, ` +
				`status.podIPs: Invalid value: [{"IP":"1.1.1.1"},{"IP":"x"}]: may specify no more than one IP for each IP family]`},
		{"a pod may have two families", "validatePodIPs", ``, ``, `podIPs: [{ip: 1.1.1.1}, {ip: "::1"}]`, ``},
		{"the host's addresses begin with its address", "validateHostIPs", ``, ``,
			`{hostIP: 1.1.1.1, hostIPs: [{ip: 1.1.1.2}]}`,
			"status.hostIPs[0].ip: Invalid value: \"1.1.1.2\": must be equal to `hostIP`"},
		{"a node that is nominated has a name", "ValidatePodStatusUpdate", ``, ``, `nominatedNodeName: A`,
			`status.nominatedNodeName: Invalid value: "A": ` + subdomainError},
		{"what ended for good stays ended", "ValidateContainerStateTransition", `restartPolicy: Never`,
			`containerStatuses: [{name: c, state: {terminated: {exitCode: 1}}}]`,
			`containerStatuses: [{name: c, state: {running: {}}}]`,
			`status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`},
		{"what failed may run again", "ValidateContainerStateTransition", `restartPolicy: OnFailure`,
			`containerStatuses: [{name: c, state: {terminated: {exitCode: 1}}}]`,
			`containerStatuses: [{name: c, state: {running: {}}}]`, ``},
		{"a claim's status is of a claim", "validatePodResourceClaimStatuses", ``, ``,
			`resourceClaimStatuses: [{name: x}]`,
			"status.resourceClaimStatuses[0].name: Invalid value: \"x\": must match the name of an entry in `spec.resourceClaims`"},
	} {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			old := podRule{spec: r.spec}.pod(t)
			overlay(t, r.was, &old.Status)
			pod := old.DeepCopy()
			pod.Status.ContainerStatuses = nil
			overlay(t, r.is, &pod.Status)
			if got := text(Validate(pod, old, "status")); got != r.want {
				t.Errorf("%s (%s):\n got %s\nwant %s", r.rule, r.source, got, r.want)
			}
		})
	}
}

// TestNegativeGracePeriodMayChange checks an update that sends 1, the value that the server
// returns for such a pod.
func TestNegativeGracePeriodMayChange(t *testing.T) {
	t.Parallel()
	old := podRule{}.pod(t)
	pod := old.DeepCopy()
	old.Spec.TerminationGracePeriodSeconds, pod.Spec.TerminationGracePeriodSeconds = new(int64(-1)), new(int64(1))
	if got := text(Validate(pod, old, "")); got != "" {
		t.Errorf("the update is rejected: %s", got)
	}
}
