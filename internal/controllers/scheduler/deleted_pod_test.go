package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/scheduler"
	"github.com/bowline-dev/bowline/internal/trial"
)

// bindingHook is an admission plugin that runs a function before a pod is bound.
type bindingHook struct{ do func(pod string) error }

func (*bindingHook) Name() string { return "before" }

func (*bindingHook) Handles(_ admission.Operation, _ schema.GroupResource, subresource string) bool {
	return subresource == "binding"
}

func (*bindingHook) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

func (b *bindingHook) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	return b.do(a.Name)
}

// A pod with a finalizer is deleted right before it is bound. Its reservation must not block other pods.
func TestDeletedPodsReleaseTheirReservation(t *testing.T) {
	t.Parallel()
	plugin := &bindingHook{}
	whole := func(name string, finalizers ...string) *corev1.Pod {
		pod := podRequesting(name, "")
		pod.Finalizers = finalizers
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("4")
		return pod
	}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		plugin.do = func(pod string) error {
			if pod != "held" {
				return nil
			}
			return pods.Delete(t.Context(), "default", pod, metav1.DeleteOptions{})
		}
		for _, pod := range []*corev1.Pod{whole("held", "example.com/hold"), whole("next")} {
			if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
		}
		held, err := pods.Get(t.Context(), "default", "held")
		if err != nil || held.DeletionTimestamp == nil || held.Spec.NodeName != "" {
			t.Fatalf("first pod: got %+v (%v), want it terminating and unbound", held, err)
		}
		if next, err := pods.Get(t.Context(), "default", "next"); err != nil || next.Spec.NodeName == "" {
			t.Errorf("next pod: got no node, conditions %+v (%v)", next.Status.Conditions, err)
		}
	}, trial.Alone(), bowlinetest.Objects(node("a", nil)), bowlinetest.With(func(o *bowline.Options) {
		o.Plugins = append(o.Plugins, plugin)
	}), bowlinetest.Manage(func(m *controller.Manager) error {
		scheduler.Add(m)
		return ready(m)
	}))
}
