package action_test

import (
	"errors"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/trial"
)

// With IfUnchanged, an object that has changed since it was observed is not deleted. No event reports this as
// a failure, because the controller will decide again.
func TestDeleteIfUnchangedDetectsChange(t *testing.T) {
	t.Parallel()
	var executor *action.Executor
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		maps := bowlinetest.Client[*corev1.ConfigMap](t, p)
		a := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}
		seen, err := maps.Create(t.Context(), a, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		patch := []byte(`{"data":{"b":"c"}}`)
		if _, err := maps.Patch(t.Context(), "default", "a", "", types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		deletion := action.Delete[*corev1.ConfigMap]{
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Object: seen,
			IfUnchanged: true,
			Events:      action.Events{Object: seen, Reason: "Deleted", FailureReason: "FailedDelete"},
		}
		if _, err := executor.Do(t.Context(), deletion); !errors.Is(err, action.ErrStaleCache) ||
			!apierrors.IsConflict(err) {
			t.Errorf("deleting a changed object: got error %v, want ErrStaleCache and a conflict", err)
		}
		synctest.Wait()
		events, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default", metav1.ListOptions{})
		if err != nil || len(events.Items) > 0 {
			t.Errorf("got events %v (%v)", events.Items, err)
		}
		deletion.IfUnchanged = false
		if _, err := executor.Do(t.Context(), deletion); err != nil {
			t.Errorf("deleting any version of the object: got error %v", err)
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		executor = action.NewExecutor(m, "test")
		return nil
	}))
}

// A stale cache shows an object that no longer exists. After the failed status update, no event is recorded
// and nothing else is written.
func TestStatusUpdateOfMissingObjectStopsActions(t *testing.T) {
	t.Parallel()
	var executor *action.Executor
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		existing := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "there", Namespace: "default"}}
		existing.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		missing := existing.DeepCopy()
		existing, err := pods.Create(t.Context(), existing, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		missing.Name, missing.UID, missing.ResourceVersion = "gone", "gone", "1"
		of := func(pod *corev1.Pod) []action.Action {
			in := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
			return []action.Action{
				action.Requeue{After: 1},
				action.Update[*corev1.Pod]{Resource: in, Object: pod, Subresource: "status",
					Events: action.Events{Object: pod, Reason: "Written"}},
				action.Event{Object: pod, Reason: "Followed", Message: "the next action"},
			}
		}
		if result, err := executor.Do(t.Context(), of(missing)...); err != nil || result.RequeueAfter > 0 {
			t.Errorf("deleted object: got %v, %v; want no requeue and no error", result, err)
		}
		if result, err := executor.Do(t.Context(), of(existing)...); err != nil || result.RequeueAfter == 0 {
			t.Errorf("existing object: got %v, %v; want a requeue and no error", result, err)
		}
		synctest.Wait()
		events, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default", metav1.ListOptions{})
		if err != nil || len(events.Items) != 2 {
			t.Errorf("got events %v (%v)", events.Items, err)
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Name != "there" {
				t.Errorf("unexpected event %s of %s", e.Reason, e.InvolvedObject.Name)
			}
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		executor = action.NewExecutor(m, "test")
		return nil
	}))
}
