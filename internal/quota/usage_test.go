package quota

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// The usage of a pod is what Kubernetes' own library computes, whether or not the containers determine it alone.
func TestUsageOfPodIsThatOfKubernetes(t *testing.T) {
	t.Parallel()
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
	}
	needs := func(cpu, memory string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: list(cpu, memory), Limits: list("3", "3Gi")}
	}
	always := corev1.ContainerRestartPolicyAlways
	for _, test := range []struct {
		name   string
		sum    bool
		change func(*corev1.Pod)
	}{
		{"two containers", true, func(*corev1.Pod) {}},
		{"a container without resources", true, func(p *corev1.Pod) { p.Spec.Containers[0].Resources = corev1.ResourceRequirements{} }},
		{"no container", true, func(p *corev1.Pod) { p.Spec.Containers = nil }},
		{"containers that run", true, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", Ready: true}}
		}},
		{"an init container", false, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: needs("9", "1Mi")}}
		}},
		{"a sidecar", false, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: needs("9", "1Mi"), RestartPolicy: &always}}
		}},
		{"overhead", false, func(p *corev1.Pod) { p.Spec.Overhead = list("1m", "1Ki") }},
		{"resources of the pod", false, func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: list("7", "7Gi")}
		}},
		{"a resize in progress", false, func(p *corev1.Pod) {
			resources := needs("8", "8Gi")
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", Resources: &resources,
				AllocatedResources: list("6", "6Gi")}}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{}
			pod.Spec.Containers = []corev1.Container{
				{Name: "a", Resources: needs("100m", "64Mi")}, {Name: "b", Resources: needs("1", "1G")},
			}
			test.change(pod)
			if got := isSum(pod); got != test.sum {
				t.Errorf("isSum is %v, want %v", got, test.sum)
			}
			options := resourcehelper.PodResourcesOptions{UseStatusResources: true}
			requests, limits := resourcehelper.PodRequests(pod, options), resourcehelper.PodLimits(pod, options)
			usage := UsageOf(pod, time.Now())
			for name, want := range map[corev1.ResourceName]resource.Quantity{
				"pods": resource.MustParse("1"), "count/pods": resource.MustParse("1"),
				"cpu": requests["cpu"], "requests.memory": requests["memory"], "limits.cpu": limits["cpu"],
				"limits.memory": limits["memory"], "requests.example.com/gpu": {},
			} {
				if got := usage(name); got.Cmp(want) != 0 || got.String() != want.String() {
					t.Errorf("%s is %s, want %s", name, got.String(), want.String())
				}
			}
		})
	}
}
