package podspec

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestPodResourceDefaults(t *testing.T) {
	t.Parallel()
	const limited = `resources: {limits: {cpu: "2", memory: 1Gi}, requests: {cpu: "1"}}`
	for _, r := range []struct{ rule, spec, container, want string }{
		{"a pod without resources gets none", `resources: {}`, limited, `{}`},
		{"requests are sums", `resources: {limits: {cpu: "8"}}`, `resources: {requests: {cpu: "1", memory: 1Gi}}`,
			`{"limits":{"cpu":"8"},"requests":{"cpu":"1","memory":"1Gi"}}`},
		{"requests are limits if no container requests any", `resources: {limits: {cpu: "8"}}`, ``,
			`{"limits":{"cpu":"8"},"requests":{"cpu":"8"}}`},
		{"limits are sums if all containers have them", `resources: {requests: {cpu: "1"}}`, limited,
			`{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}`},
		{"limits cover requests", `resources: {requests: {cpu: "3"}}`, limited,
			`{"limits":{"cpu":"3","memory":"1Gi"},"requests":{"cpu":"3","memory":"1Gi"}}`},
		{"one container has no limit", `{resources: {requests: {cpu: "1"}}, initContainers: [{name: a, image: i}]}`,
			limited, `{"requests":{"cpu":"1","memory":"1Gi"}}`},
		{"huge pages are sums", `resources: {requests: {cpu: "1"}}`,
			`resources: {requests: {cpu: "1"}, limits: {hugepages-2Mi: 4Mi}}`,
			`{"limits":{"hugepages-2Mi":"4Mi"},"requests":{"cpu":"1","hugepages-2Mi":"4Mi"}}`},
	} {
		got, err := json.Marshal(podRule{spec: r.spec, container: r.container}.pod(t).Spec.Resources)
		if err != nil || string(got) != r.want {
			t.Errorf("%s: %s %v, want %s", r.rule, got, err, r.want)
		}
	}
}

// TestDefaultsLeavePodResources checks that the resources are completed after plugins have added containers.
func TestDefaultsLeavePodResources(t *testing.T) {
	t.Parallel()
	pod := validPodToChange()
	overlay(t, `resources: {limits: {cpu: "1"}}`, &pod.Spec)
	Default(pod)
	if len(pod.Spec.Resources.Requests) != 0 {
		t.Errorf("requests: %v, want none before Prepare", pod.Spec.Resources.Requests)
	}
}

// TestSumsOfManyInitContainers creates a pod whose sidecars have many resources, which are added to those of each of
// many init containers.
func TestSumsOfManyInitContainers(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	sidecar := corev1.Container{Name: "s", Image: "i", RestartPolicy: &always}
	sidecar.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	for i := range 10_000 {
		sidecar.Resources.Limits[corev1.ResourceName(fmt.Sprintf("example.com/r%d", i))] = resource.MustParse("1")
	}
	pod := validPodToChange()
	overlay(t, `resources: {limits: {cpu: "1"}}`, &pod.Spec)
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, sidecar)
	for i := range 10_000 {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: fmt.Sprint("a", i), Image: "i"})
	}
	start := time.Now()
	Default(pod)
	Prepare(pod, nil, "")
	got := text(Validate(pod, nil, ""))
	if took := time.Since(start); took > 10*time.Second { // one second, on a busy machine
		t.Errorf("the create took %s", took)
	}
	if want := `spec.resources: Forbidden: the init containers have too many resources to be added up`; got != want {
		t.Errorf("got %.300s, want %s", got, want)
	}
}
