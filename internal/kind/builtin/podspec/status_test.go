package podspec

import (
	"encoding/json"
	"testing"
)

func TestContainerStatusRules(t *testing.T) {
	t.Parallel()
	const device = `resources: {limits: {example.com/gpu: "1"}}`
	const claimed = "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when " +
		"container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
	allocated := func(name, devices string) string {
		return `containerStatuses: [{name: c, allocatedResourcesStatus: [{name: "` + name + `", resources: [` + devices +
			`]}]}]`
	}
	const extended = `extendedResourceClaimStatus: {resourceClaimName: x, requestMappings: [{containerName: c, resourceName: example.com/gpu, requestName: r}]}`
	for _, r := range []struct{ rule, source, spec, container, was, is, want string }{
		{"a bound pod is not nominated", "ValidatePodStatusUpdate", `nodeName: n`, ``, ``, `nominatedNodeName: m`,
			`status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node`},
		{"a generation is not negative", "ValidatePodStatusUpdate", ``, ``, ``,
			`{observedGeneration: -1, conditions: [{type: Ready, observedGeneration: -2}]}`,
			`[status.conditions[0].observedGeneration: Invalid value: -2: must be a non-negative integer, status.observedGeneration: Invalid value: -1: must be a non-negative integer]`},
		{"a user is an ID", "validateContainerStatusUsers", ``, ``, ``,
			`containerStatuses: [{name: c, user: {linux: {uid: 4294967295, gid: -1, supplementalGroups: [-1]}}}]`,
			`[status.containerStatuses[0].user.linux.gid: Invalid value: -1: must be between 0 and 2147483647, inclusive, status.containerStatuses[0].user.linux.supplementalGroups[0]: Invalid value: -1: must be between 0 and 2147483647, inclusive]`},
		{"a Windows pod has no Linux users", "validateContainerStatusUsers", `os: {name: windows}`, ``, ``,
			`initContainerStatuses: [{name: c, user: {linux: {uid: 1, gid: 1}}}]`,
			`status.initContainerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod`},
		{"a device is requested", "validateContainerStatusAllocatedResourcesStatus", ``, device, ``,
			allocated("example.com/gpu", `{resourceID: a, health: Healthy}`), ``},
		{"a device is not requested", "validateContainerStatusAllocatedResourcesStatus", ``, ``, ``,
			allocated("example.com/gpu", ``), `status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "example.com/gpu": must match one of the container's resource requests`},
		{"a claim is used", "validateContainerStatusAllocatedResourcesStatus",
			`resourceClaims: [{name: x, resourceClaimName: y}]`, `resources: {claims: [{name: x, request: r}]}`, ``,
			allocated("claim:x/r", ``), ``},
		{"a claim is not used", "validateContainerStatusAllocatedResourcesStatus", ``, device, ``,
			allocated("claim:x", ``),
			`status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "claim:x": ` + claimed},
		{"a claim is made for a device", "matchesExtendedResourceClaimStatus", ``, device, ``,
			extended + "\n" + allocated("claim:x/r", ``), ``},
		{"a device has one health", "validateContainerStatusAllocatedResourcesStatus", ``, device, ``,
			allocated("example.com/gpu", `{resourceID: a, health: Sick}, {resourceID: a, health: Healthy, message: ""}`),
			`[status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported value: "Sick": supported values: "Healthy", "Unhealthy", "Unknown", status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].message: Required value: must be non-empty if specified, status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "a"]`},
		{"an ephemeral container has no devices", "validateContainerStatusNoAllocatedResourcesStatus", ``, ``, ``,
			`ephemeralContainerStatuses: [{name: e, allocatedResourcesStatus: [{name: cpu}]}]`,
			`status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status`},
		{"an ephemeral container does not start again", "ValidateEphemeralContainerStateTransition", ``, ``,
			`ephemeralContainerStatuses: [{name: e, state: {terminated: {exitCode: 1}}}]`,
			`ephemeralContainerStatuses: [{name: e, state: {terminated: null, running: {}}}]`,
			`status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`},
		{"a claim for devices names requests", "validatePodExtendedResourceClaimStatus", ``, ``, ``,
			`extendedResourceClaimStatus: {}`,
			`[status.extendedResourceClaimStatus.requestMappings: Required value: at least one request mapping is required, status.extendedResourceClaimStatus.resourceClaimName: Required value]`},
		{"a claim for devices names containers", "validatePodExtendedResourceClaimStatus", ``, ``, ``,
			`extendedResourceClaimStatus: {resourceClaimName: x, requestMappings: [{containerName: c, resourceName: r, requestName: r}, {containerName: d, resourceName: r, requestName: r}]}`,
			`[status.extendedResourceClaimStatus.requestMappings[0].resourceName: Invalid value: "r": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests, status.extendedResourceClaimStatus.requestMappings[1].containerName: Invalid value: "d": must match the name of an entry in spec.initContainers.name or spec.containers.name]`},
	} {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			old := podRule{spec: r.spec, container: r.container}.pod(t)
			overlay(t, r.was, &old.Status)
			pod := old.DeepCopy()
			overlay(t, r.is, &pod.Status)
			if got := text(Validate(pod, old, "status")); got != r.want {
				t.Errorf("%s:\n got %s\nwant %s", r.source, got, r.want)
			}
		})
	}
}

// TestStatusWriteRestoresFields checks what a write of the status keeps for clients that drop unknown fields, and which
// fields it drops because their features are disabled.
func TestStatusWriteRestoresFields(t *testing.T) {
	t.Parallel()
	const observed = `{observedGeneration: 2, conditions: [{type: A, status: "True", observedGeneration: 1}, {type: A, status: "True", observedGeneration: 2}]}`
	for _, r := range []struct{ rule, was, is, want string }{
		{"observed generations are kept", observed, `conditions: [{type: A, status: "False"}, {type: A, status: "False"}]`,
			`{"observedGeneration":2,"conditions":[{"type":"A","observedGeneration":1,"status":"False","lastProbeTime":null,"lastTransitionTime":null},{"type":"A","observedGeneration":2,"status":"False","lastProbeTime":null,"lastTransitionTime":null}],"qosClass":"BestEffort"}`},
		{"newer generations replace them", observed, `{observedGeneration: 3}`,
			`{"observedGeneration":3,"qosClass":"BestEffort"}`},
		{"statuses of claims are kept", `{resourceClaimStatuses: [{name: x}], extendedResourceClaimStatus: {resourceClaimName: z}}`,
			`{}`,
			`{"qosClass":"BestEffort","resourceClaimStatuses":[{"name":"x"}],"extendedResourceClaimStatus":{"requestMappings":null,"resourceClaimName":"z"}}`},
		{"an empty list clears them", `{resourceClaimStatuses: [{name: x}]}`, `{resourceClaimStatuses: []}`,
			`{"qosClass":"BestEffort"}`},
		{"disabled fields are dropped", `{}`,
			`{nodeAllocatableResourceClaimStatuses: [{resourceClaimName: x}], volumeHealth: [{name: v}], containerStatuses: [{name: c, ready: true, restartCount: 0, image: i, imageID: i, volumeMounts: [{name: v, mountPath: /v, volumeStatus: {image: {imageRef: x}}}]}]}`,
			`{"containerStatuses":[{"name":"c","state":{},"lastState":{},"ready":true,"restartCount":0,"image":"i","imageID":"i","volumeMounts":[{"name":"v","mountPath":"/v"}]}],"qosClass":"BestEffort"}`},
	} {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			old := podRule{}.pod(t)
			old.Status.Phase = ""
			overlay(t, r.was, &old.Status)
			pod := validPodToChange()
			overlay(t, r.is, &pod.Status)
			Prepare(pod, old, "status")
			got, err := json.Marshal(pod.Status)
			if err != nil || string(got) != r.want {
				t.Errorf("\n got %s %v\nwant %s", got, err, r.want)
			}
		})
	}
}
