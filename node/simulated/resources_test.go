package simulated_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// A client advertises an extended resource by patching the capacity of a node, and withdraws it in the same way. Both
// hold over the later updates of the node's status, while the node's own capacity cannot be changed.
func TestPatchedExtendedResourcesAreAllocatable(t *testing.T) {
	t.Parallel()
	const fakeCPU = "example.com/fakecpu"
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		nodes := bowlinetest.Client[*corev1.Node](t, p)
		bowlinetest.Wait(t, p, "", "node-0", func(n *corev1.Node) bool { return len(n.Status.Allocatable) > 0 })
		patch := func(body string) {
			t.Helper()
			if _, err := nodes.Patch(t.Context(), "", "node-0", "status", types.JSONPatchType, []byte(body),
				metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct{ name, patch, want string }{
			{"added", `[{"op":"add","path":"/status/capacity/example.com~1fakecpu","value":"800"}]`, "800"},
			{"changed, with the node's own capacity",
				`[{"op":"replace","path":"/status/capacity/example.com~1fakecpu","value":"5"},
				  {"op":"replace","path":"/status/capacity/cpu","value":"1"}]`, "5"},
			{"allocatable only", `[{"op":"replace","path":"/status/allocatable/example.com~1fakecpu","value":"7"}]`, "5"},
			{"removed", `[{"op":"remove","path":"/status/capacity/example.com~1fakecpu"}]`, ""},
			{"added to allocatable only", `[{"op":"add","path":"/status/allocatable/example.com~1other","value":"7"}]`, ""},
		} {
			patch(step.patch)
			for _, wait := range []time.Duration{0, 10 * time.Minute} {
				time.Sleep(wait)
				synctest.Wait()
				node, err := nodes.Get(t.Context(), "", "node-0")
				if err != nil {
					t.Fatal(err)
				}
				for name, list := range map[string]corev1.ResourceList{
					"capacity": node.Status.Capacity, "allocatable": node.Status.Allocatable,
				} {
					got := ""
					if quantity, ok := list[fakeCPU]; ok {
						got = quantity.String()
					}
					_, other := list["example.com/other"]
					if got != step.want || list.Cpu().Value() != 32 || list.Pods().Value() != 110 || other {
						t.Errorf("%s, after %s: got %s %v, want %q of %s and the node's own", step.name, wait, name, list,
							step.want, fakeCPU)
					}
				}
			}
		}
	}, nodes(1, 0))
}

// A pod is admitted to the extended resources that a client has advertised, and fails if they are used up.
func TestExtendedResourcesAreUsedUp(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		nodes, pods := bowlinetest.Client[*corev1.Node](t, p), bowlinetest.Client[*corev1.Pod](t, p)
		bowlinetest.Wait(t, p, "", "node-0", func(n *corev1.Node) bool { return len(n.Status.Allocatable) > 0 })
		body := []byte(`{"status":{"capacity":{"example.com/fakecpu":"1"}}}`)
		if _, err := nodes.Patch(t.Context(), "", "node-0", "status", types.MergePatchType, body,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, c := range []struct {
			name string
			want corev1.PodPhase
		}{{"first", corev1.PodRunning}, {"second", corev1.PodFailed}} {
			pod := bound(c.name, nil)
			one := corev1.ResourceList{"example.com/fakecpu": resource.MustParse("1")}
			pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
			if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			got, err := pods.Get(t.Context(), "default", c.name)
			if err != nil || got.Status.Phase != c.want {
				t.Errorf("%s: got %s (%v), want %s", c.name, got.Status.Phase, err, c.want)
			}
		}
	}, nodes(1, 0))
}
