package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// resourcesOf returns requests and limits, each a list such as cpu=1,memory=1Gi, separated by a slash.
func resourcesOf(text string) (r corev1.ResourceRequirements) {
	requests, limits, _ := strings.Cut(text, "/")
	read := func(text string) (list corev1.ResourceList) {
		for part := range strings.SplitSeq(text, ",") {
			if name, amount, found := strings.Cut(part, "="); found {
				if list == nil {
					list = corev1.ResourceList{}
				}
				list[corev1.ResourceName(name)] = resource.MustParse(amount)
			}
		}
		return list
	}
	r.Requests, r.Limits = read(requests), read(limits)
	return r
}

func TestRunningPodsHaveTheResourcesOfTheirCgroup(t *testing.T) {
	t.Parallel()
	const pending, running = corev1.PodPending, corev1.PodRunning
	for _, c := range []struct {
		name, level, a, b string
		phase             corev1.PodPhase
		has, allocated    string
	}{
		{"nothing", "", "", "", running, "/", "/"},
		{"sums", "", "cpu=1", "cpu=500m,memory=1Gi", running, "cpu=1500m,memory=1Gi/", "cpu=1500m,memory=1Gi/"},
		{"limits of all containers", "", "cpu=1/cpu=2,memory=1Gi", "/cpu=1", running, "cpu=1/cpu=3", "cpu=1/"},
		{"limits before the pod runs", "", "cpu=1/cpu=2,memory=1Gi", "/cpu=1", pending, "cpu=1/cpu=3,memory=1Gi",
			"cpu=1/"},
		{"other resources", "", "ephemeral-storage=1Gi", "", running, "/", "ephemeral-storage=1Gi/"},
		{"resources of the pod", "cpu=3/memory=2Gi", "cpu=1,memory=1Gi", "", running, "cpu=3,memory=1Gi/memory=2Gi",
			"cpu=3,memory=1Gi/"},
	} {
		s := podIn(corev1.RestartPolicyAlways, "a b", "")
		if c.level != "" {
			s.Pod.Spec.Resources = ptr.To(resourcesOf(c.level))
		}
		s.Pod.Spec.Containers[0].Resources, s.Pod.Spec.Containers[1].Resources = resourcesOf(c.a), resourcesOf(c.b)
		has, allocated := podResources(s.Pod, c.phase)
		want := resourcesOf(c.has)
		if !sameList(has.Requests, want.Requests) || !sameList(has.Limits, want.Limits) ||
			!sameList(allocated, resourcesOf(c.allocated).Requests) {
			t.Errorf("%s: got %v, allocated %v, want %s, %s", c.name, has, allocated, c.has, c.allocated)
		}
	}
}

func sameList(a, b corev1.ResourceList) bool {
	for name, quantity := range a {
		if quantity.Cmp(b[name]) != 0 {
			return false
		}
	}
	return len(a) == len(b)
}

func TestResizePoliciesRestartContainers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, level, before, levelAfter, after, restarted string }{
		{"no change", "", "cpu=1/memory=1Gi", "", "cpu=1/memory=1Gi", ""},
		{"a request without a policy", "", "memory=1Gi", "", "memory=2Gi", ""},
		{"a request", "", "cpu=1", "", "cpu=2", "a"},
		{"a limit", "", "cpu=1/cpu=1", "", "cpu=1/cpu=2", "a"},
		{"another format", "", "cpu=1", "", "cpu=1000m", ""},
		{"the pod's limit", "/cpu=2", "cpu=1", "/cpu=3", "cpu=1", "a"},
		{"the pod's limit, not the container's", "/cpu=2", "cpu=1/cpu=1", "/cpu=3", "cpu=1/cpu=1", ""},
	} {
		pod := func(level, resources string) *corev1.Pod {
			p := podIn(corev1.RestartPolicyAlways, "a b", "").Pod
			if level != "" {
				p.Spec.Resources = ptr.To(resourcesOf(level))
			}
			for i := range p.Spec.Containers {
				p.Spec.Containers[i].Resources = resourcesOf(resources)
			}
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
				{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer},
			}
			return p
		}
		got := strings.Join(restartedBy(pod(c.levelAfter, c.after), pod(c.level, c.before)), " ")
		if got != c.restarted {
			t.Errorf("%s: got %q, want %q", c.name, got, c.restarted)
		}
	}
}

// The status shows what the node has allocated to the containers and, if the spec has them, to the pod.
func TestAllocationIsRecoveredFromTheStatus(t *testing.T) {
	t.Parallel()
	pod := podIn(corev1.RestartPolicyAlways, "side a b", "").Pod
	pod.Spec.Resources = ptr.To(resourcesOf("cpu=3/cpu=4"))
	for _, c := range []*corev1.Container{&pod.Spec.InitContainers[0], &pod.Spec.Containers[0]} {
		c.Resources = resourcesOf("cpu=2")
	}
	if recoverAllocation(pod) != pod {
		t.Error("a pod that was never admitted: got another pod, want the same")
	}
	pod.Status.StartTime = ptr.To(metav1.NewTime(noon))
	pod.Status.Resources = ptr.To(resourcesOf("cpu=1,memory=1Gi/cpu=2"))
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "side", Resources: ptr.To(resourcesOf("cpu=1"))}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", Resources: ptr.To(resourcesOf("cpu=2"))},
		{Name: "b"}}
	got := recoverAllocation(pod)
	for _, c := range []struct {
		name string
		got  corev1.ResourceRequirements
		want string
	}{
		{"pod", *got.Spec.Resources, "cpu=1/cpu=2"}, {"side", got.Spec.InitContainers[0].Resources, "cpu=1/"},
		{"a", got.Spec.Containers[0].Resources, "cpu=2/"}, {"b", got.Spec.Containers[1].Resources, "/"},
		{"the pod's own", *pod.Spec.Resources, "cpu=3/cpu=4"},
		{"the sidecar's own", pod.Spec.InitContainers[0].Resources, "cpu=2"},
	} {
		want := resourcesOf(c.want)
		if !sameList(c.got.Requests, want.Requests) || !sameList(c.got.Limits, want.Limits) {
			t.Errorf("%s: got %v, want %s", c.name, c.got, c.want)
		}
	}
}
