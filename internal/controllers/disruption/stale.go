package disruption

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// addStale adds the controller that resets the DisruptionTarget condition of pods whose announced disruption
// did not happen.
func addStale(m *controller.Manager, all *informer.Informer[*corev1.Pod],
	executor *action.Executor) *controller.Controller {
	return m.Add(controller.Options{
		Name: Name + "-stale",
		Sources: []controller.Source{controller.For(all, controller.If(func(_, now *corev1.Pod) bool {
			return now != nil && disrupting(now) != nil
		}))},
		Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result, error) {
			pod, exists := all.Indexer().Get(request)
			if !exists {
				return controller.Result{}, nil
			}
			return executor.Do(ctx, resetDisruption(pod, time.Now())...)
		}),
	})
}

// disrupting returns the condition that announces the disruption of an active pod, or nil.
func disrupting(pod *corev1.Pod) *corev1.PodCondition {
	if !pods.IsActive(pod) {
		return nil
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue &&
			c.Reason != corev1.PodReasonTerminationByKubelet {
			return c
		}
	}
	return nil
}

// resetDisruption resets the DisruptionTarget condition once the disruption is overdue.
func resetDisruption(pod *corev1.Pod, now time.Time) []action.Action {
	c := disrupting(pod)
	if c == nil {
		return nil
	}
	if left := c.LastTransitionTime.Add(deletionTimeout).Sub(now); left > 0 {
		return []action.Action{action.Requeue{After: left}}
	}
	condition := map[string]any{
		"type": c.Type, "status": corev1.ConditionFalse, "reason": nil, "message": nil,
		"lastTransitionTime": metav1.NewTime(now),
	}
	if c.ObservedGeneration > 0 {
		condition["observedGeneration"] = pod.Generation
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   map[string]any{"conditions": []any{condition}},
	})
	if err != nil {
		panic(err) // cannot fail: strings and numbers
	}
	return []action.Action{action.Patch[*corev1.Pod]{
		Resource: pods.Resource, Object: pod, Subresource: "status", Type: types.StrategicMergePatchType, Body: body,
		Verb: "remove the disruption condition of",
	}}
}
