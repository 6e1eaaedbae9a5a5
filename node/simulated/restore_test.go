package simulated

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A pod that has ended may have had the address that another pod has now, and may be observed before it.
func TestEndedPodsAreNotRecovered(t *testing.T) {
	t.Parallel()
	r := newRuntime(Options{Nodes: 1}, []string{"node-0"})
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed, corev1.PodRunning} {
		pod := &corev1.Pod{}
		pod.UID, pod.Spec.NodeName = types.UID(phase), "node-0"
		pod.Spec.Containers = []corev1.Container{{Name: "web"}}
		pod.Status = corev1.PodStatus{Phase: phase, PodIP: "10.128.0.7", ContainerStatuses: []corev1.ContainerStatus{{
			Name: "web", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}}
		seen := r.Observe(pod)
		ran := phase == corev1.PodRunning
		if (len(seen.Containers) > 0) != ran || (len(seen.IPs) > 0) != ran || ran && seen.IPs[0] != pod.Status.PodIP {
			t.Errorf("%s: got %+v, want containers and addresses: %t", phase, seen, ran)
		}
	}
}
