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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// addStale adds the controller that takes back, after some time, that a pod is about to be disrupted: who said so has not done it.
func addStale(m *controller.Manager, all *informer.Informer[*corev1.Pod], hand *action.Hand) *controller.Controller {
	return m.Add(controller.Options{
		Name:    Name + "-stale",
		Sources: []controller.Source{controller.For(all, controller.If(func(_, now *corev1.Pod) bool { return now != nil && disrupting(now) != nil }))},
		Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result, error) {
			pod, there := all.Indexer().Get(request)
			if !there {
				return controller.Result{}, nil
			}
			return hand.Do(ctx, takeBack(pod, time.Now())...)
		}),
	})
}

// disrupting is the condition that says that a pod is about to be disrupted, of one that stays all the same; or nil.
func disrupting(pod *corev1.Pod) *corev1.PodCondition {
	if !pods.IsActive(pod) {
		return nil
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason != corev1.PodReasonTerminationByKubelet {
			return c
		}
	}
	return nil
}

// takeBack says of a pod that it is not disrupted, once it should have been.
func takeBack(pod *corev1.Pod, now time.Time) []action.Action {
	c := disrupting(pod)
	if c == nil {
		return nil
	}
	if left := c.LastTransitionTime.Add(patience).Sub(now); left > 0 {
		return []action.Action{action.Again{After: left}}
	}
	condition := map[string]any{
		"type": c.Type, "status": corev1.ConditionFalse, "reason": nil, "message": nil, "lastTransitionTime": metav1.NewTime(now),
	}
	if c.ObservedGeneration > 0 {
		condition["observedGeneration"] = pod.Generation
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   map[string]any{"conditions": []any{condition}},
	})
	if err != nil {
		panic(err) // strings and numbers
	}
	return []action.Action{action.Patch[*corev1.Pod]{
		In: pods.Resource, Object: pod, Subresource: "status", Type: types.StrategicMergePatchType, Body: body, Does: "take back the disruption of",
	}}
}
