package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// sized returns the YAML of a pod with one container and these resources.
func sized(resources string) string {
	return `containers: [{name: c, image: i, resources: {` + resources + `}}]`
}

// initSized is sized with an additional init container that has other fields.
func initSized(resources, fields string) string {
	return sized(`requests: {cpu: "1"}`) + "\n" +
		`initContainers: [{name: a, image: i, resources: {` + resources + `}` + fields + `}]`
}

const (
	onlyCompute = `Forbidden: only cpu and memory resources are mutable`
	otherClass  = `Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing`
)

func TestResizeRules(t *testing.T) {
	const source, one = "ValidatePodResize", `requests: {cpu: "1"}`
	const policy = `, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]`
	checkSubresource(t, "resize", []subresourceRule{
		{"CPU changes", source, sized(one), sized(`requests: {cpu: "2"}`), ``},
		{"a limit is added", source, sized(one), sized(`requests: {cpu: "1"}, limits: {cpu: "2"}`), ``},
		{"memory is added", source, sized(one), sized(`requests: {cpu: "1", memory: 1Gi}`), ``},
		{"a limit is below the request", "validateResourceRequirements", sized(one),
			sized(`requests: {cpu: "2"}, limits: {cpu: "1"}`),
			`spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`},
		{"the class changes", source, sized(one),
			sized(`requests: {cpu: "1", memory: 1Gi}, limits: {cpu: "1", memory: 1Gi}`), `spec: ` + otherClass},
		{"storage changes", "dropCPUMemoryUpdates", sized(`requests: {cpu: "1", ephemeral-storage: 1Gi}`),
			sized(`requests: {cpu: "1", ephemeral-storage: 2Gi}`), `spec: ` + onlyCompute},
		{"a policy changes", source, sized(one), `containers: [{name: c, image: i` + policy + `}]`,
			`spec: ` + onlyCompute},
		{"an image is dropped", "dropNonResizeUpdates", sized(one), `{containers: [{name: c, image: j}], nodeName: n}`, ``},
		{"a container is added", "validatePodResizeContainerOrdering", sized(one),
			`containers: [{name: c, image: i}, {name: d, image: i}]`,
			`spec.containers: Forbidden: containers may not be added or removed on resize`},
		{"a container is renamed", "validatePodResizeContainerOrdering", sized(one), `containers: [{name: d, image: i}]`,
			`spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize`},
		{"an init container is added", "validatePodResizeContainerOrdering", sized(one),
			`initContainers: [{name: a, image: i}]`,
			`spec.initContainers: Forbidden: initContainers may not be added or removed on resize`},
		{"an init container is renamed", "validatePodResizeContainerOrdering", initSized(one, ``),
			`initContainers: [{name: b, image: i}]`,
			`spec.initContainers[0].name: Forbidden: initContainers may not be renamed or reordered on resize`},
		{"an init container changes", source, initSized(one, ``), initSized(`requests: {cpu: "2"}`, ``), ``},
		{"an init container's storage changes", source, initSized(`requests: {cpu: "1", ephemeral-storage: 1Gi}`, ``),
			initSized(`requests: {cpu: "1", ephemeral-storage: 2Gi}`, ``), `spec.initContainers[0]: ` +
				`Forbidden: only cpu and memory resources for init or sidecar containers are mutable`},
		{"an init container would restart", source, initSized(one, policy), initSized(`requests: {cpu: "2"}`, policy),
			`spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized`},
		{"an init container that would restart stays", source, initSized(one, policy),
			`containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]`, ``},
		{"a sidecar restarts", source, initSized(one, `, restartPolicy: Always`+policy),
			initSized(`requests: {cpu: "2"}`, `, restartPolicy: Always`+policy), ``},
		{"a Windows pod", source, `os: {name: windows}`, sized(one), `[]: Forbidden: windows pods cannot be resized`},
		{"the pod's CPU changes", "validatePodLevelResourcesResize", `resources: {requests: {cpu: "1"}}`,
			`resources: {requests: {cpu: "2"}}`, ``},
		{"the pod's huge pages change", "validatePodLevelResourcesResize",
			`resources: {requests: {cpu: "1"}, limits: {hugepages-2Mi: 2Mi}}`, `resources: {limits: {hugepages-2Mi: 4Mi}, requests: {hugepages-2Mi: 4Mi}}`,
			`spec: ` + onlyCompute + ` at pod-level`},
		{"the pod gets resources", "validatePodLevelResourcesResize", sized(one), `resources: {requests: {cpu: "2"}}`, ``},
		{"the pod gets too few resources", "validatePodResourceConsistency", sized(`requests: {cpu: "4"}`),
			`resources: {requests: {cpu: "2"}}`,
			`spec.resources.requests[cpu]: Invalid value: "2": must be greater than or equal to aggregate container requests of 4`},
		{"the pod gets empty resources", source, sized(one), `resources: {}`, `spec: ` + onlyCompute},
	})
}

// TestResizeRemovesNothing checks that a resize cannot remove requests and limits.
func TestResizeRemovesNothing(t *testing.T) {
	t.Parallel()
	old := podRule{spec: `{resources: {requests: {cpu: "4", memory: 4Gi}}, initContainers: [{name: a, image: i}]}`,
		container: `resources: {requests: {cpu: "1", memory: 1Gi}, limits: {cpu: "2", memory: 2Gi}}`}.pod(t)
	old.Spec.InitContainers[0].Resources = *old.Spec.Containers[0].Resources.DeepCopy()
	pod := old.DeepCopy()
	cpu := pod.Spec.Resources.Requests[corev1.ResourceCPU]
	pod.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: cpu}
	delete(pod.Spec.Containers[0].Resources.Limits, corev1.ResourceMemory)
	delete(pod.Spec.InitContainers[0].Resources.Requests, corev1.ResourceCPU)
	want := `[spec.resources.requests: Forbidden: pod-level resource requests cannot be removed, ` +
		`spec.initContainers[0].resources.requests: Forbidden: resource requests cannot be removed, ` +
		`spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed]`
	if got := text(Validate(pod, old, "resize")); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	pod.Spec.Resources = nil
	want = `spec.resources: Forbidden: pod-level resources cannot be removed`
	if got := Validate(pod, old, "resize"); len(got) == 0 || got[0].Error() != want {
		t.Errorf("the first error is %v, want %s", got, want)
	}
}

func TestResizeNeedsSupport(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		rule, want string
		change     func(*corev1.Pod)
	}{
		{"a static pod", `[]: Forbidden: static pods cannot be resized`, func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		}},
		{"a node that reports no resources", `spec: Forbidden: Pod running on node without support for resize`,
			func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{}, {Name: "c",
					State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			}},
		{"a node that reports resources", ``, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c",
				Resources: &corev1.ResourceRequirements{},
				State:     corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}},
		{"a pod without a class", ``, func(p *corev1.Pod) { p.Status.QOSClass = "" }},
		{"a pod of a class that does not follow from its resources",
			`spec: Invalid value: "BestEffort": Pod QOS Class may not change as a result of resizing`,
			func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSBestEffort }},
	} {
		old := podRule{spec: sized(`requests: {cpu: "1"}`)}.pod(t)
		r.change(old)
		pod := old.DeepCopy()
		overlay(t, sized(`requests: {cpu: "2"}`), &pod.Spec)
		if got := text(Validate(pod, old, "resize")); got != r.want {
			t.Errorf("%s:\n got %s\nwant %s", r.rule, got, r.want)
		}
	}
}

// TestResizeRestoresOtherFields checks which fields a write of pods/resize changes, and that only these increase the
// generation.
func TestResizeRestoresOtherFields(t *testing.T) {
	t.Parallel()
	old := podRule{spec: sized(`requests: {cpu: "1"}`) + "\n" + `resources: {requests: {cpu: "2"}}` + "\n" + debugger}.pod(t)
	old.Generation = 3
	pod := old.DeepCopy()
	pod.Generation = 4 // as the server counts it
	pod.Labels, pod.Spec.Resources, pod.Spec.EphemeralContainers = map[string]string{"x": "y"}, nil, nil
	pod.Spec.Containers[0].Image = "j"
	same := pod.DeepCopy()
	Prepare(same, old, "resize")
	if same.Generation != 3 || same.Labels["x"] != "" || same.Spec.Resources == nil ||
		len(same.Spec.EphemeralContainers) != 1 || same.Spec.Containers[0].Image != "i" {
		t.Errorf("generation %d, labels %v, spec %+v", same.Generation, same.Labels, same.Spec)
	}
	overlay(t, sized(`requests: {cpu: "1500m"}`), &pod.Spec)
	Prepare(pod, old, "resize")
	if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); pod.Generation != 4 || got != "1500m" {
		t.Errorf("generation %d with %s CPU, want 4 with 1500m", pod.Generation, got)
	}
	if got := old.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "1" {
		t.Errorf("the old pod was changed: it requests %s CPU", got)
	}
}

// TestUpdateKeepsPodResources checks an update by a client whose types lack the pod-level resources.
func TestUpdateKeepsPodResources(t *testing.T) {
	t.Parallel()
	old := podRule{spec: `resources: {requests: {cpu: "2"}}`}.pod(t)
	old.Generation = 3
	pod := old.DeepCopy()
	pod.Spec.Resources, pod.Generation = nil, 4
	Prepare(pod, old, "")
	if pod.Spec.Resources == nil || pod.Generation != 3 {
		t.Errorf("resources %v, generation %d; want those of the old pod and 3", pod.Spec.Resources, pod.Generation)
	}
}
