package scheduler_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/scheduler"
	"github.com/bowline-dev/bowline/internal/trial"
)

// bindingGate is an admission plugin that rejects bindings until it is open.
type bindingGate struct{ open atomic.Bool }

func (*bindingGate) Name() string { return "closed" }

func (*bindingGate) Handles(_ admission.Operation, _ schema.GroupResource, subresource string) bool {
	return subresource == "binding"
}

func (*bindingGate) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

func (c *bindingGate) Validate(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	if c.open.Load() {
		return nil
	}
	return a.Forbidden("the nodes are closed")
}

func TestRejectedBindingsAreReportedAndRetried(t *testing.T) {
	t.Parallel()
	nodes := &bindingGate{}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		time.Sleep(5 * time.Second)
		synctest.Wait()
		pod, err := bowlinetest.Client[*corev1.Pod](t, p).Get(t.Context(), "default", "one")
		if err != nil {
			t.Fatal(err)
		}
		c := pod.Status.Conditions[0]
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse ||
			c.Reason != corev1.PodReasonSchedulerError ||
			!strings.HasPrefix(c.Message, "binding rejected: ") ||
			!strings.Contains(c.Message, "the nodes are closed") {
			t.Errorf("got condition %+v, want SchedulerError with the reason of the rejection", c)
		}
		nodes.open.Store(true)
		time.Sleep(time.Minute)
		if bound, _ := outcome(t, p); bound != 1 {
			t.Errorf("after bindings are permitted: got %d bound pods, want 1", bound)
		}
	}, trial.Alone(), bowlinetest.Objects(node("a", nil), podRequesting("one", "")),
		bowlinetest.With(func(o *bowline.Options) {
			o.Plugins = append(o.Plugins, nodes)
		}), bowlinetest.Manage(func(m *controller.Manager) error {
			scheduler.Add(m)
			return ready(m)
		}))
}
