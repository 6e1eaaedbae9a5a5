package nodelifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// reconcilePods updates or evicts the pods of a node according to its state. A failure for one pod does not stop the
// others.
func (w *watcher) reconcilePods(ctx context.Context, node *corev1.Node,
	now time.Time) (result controller.Result, err error) {
	unknown := statusOf(node, corev1.NodeReady) == corev1.ConditionUnknown
	evicts := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }
	if !unknown && !slices.ContainsFunc(node.Spec.Taints, evicts) {
		return result, nil
	}
	since := w.since(node.Name)
	unchanged := []action.Precondition{action.Unchanged[*corev1.Node]{Resource: resource,
		Objects: []*corev1.Node{node}}}
	var failures []error
	for pod := range w.pods.Indexer().Each("node", node.Name) {
		actions, wait, err := decidePod(pod, node, since, unknown, now)
		if err == nil && len(actions) > 0 {
			_, err = w.executor.Do(ctx, action.Guard{Preconditions: unchanged, Then: actions})
		}
		if errors.Is(err, action.ErrStaleCache) {
			return result, err
		}
		failures = append(failures, err)
		if wait > 0 && (result.RequeueAfter == 0 || wait < result.RequeueAfter) {
			result.RequeueAfter = wait
		}
	}
	return result, errors.Join(failures...)
}

// decidePod returns the actions for one pod, its status update first, and the time until the pod must be evicted.
func decidePod(
	pod *corev1.Pod, node *corev1.Node, since func(*corev1.Taint) time.Time, unknown bool, now time.Time,
) (actions []action.Action, wait time.Duration, err error) {
	var conditions []corev1.PodCondition
	if unknown && pods.IsReady(pod) {
		conditions = append(conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse})
		actions = append(actions, action.Event{Object: pod, Warning: true, Reason: "NodeNotReady",
			Message: "Node is not ready"})
	}
	at, mustLeave := EvictAt(pod, node.Spec.Taints, since)
	switch {
	case !mustLeave || pod.DeletionTimestamp != nil || !pods.IsActive(pod):
	case at.After(now):
		wait = at.Sub(now)
	default:
		if !disrupted(pod) {
			conditions = append(conditions, corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: "DeletionByTaintManager", Message: "Taint manager: deleting due to NoExecute taint",
			})
		}
		actions = append(actions, action.Delete[*corev1.Pod]{Resource: pods.Resource, Object: pod,
			Events: action.Events{
				Object: pod, Reason: "TaintManagerEviction",
				Message: fmt.Sprintf("Marking for deletion Pod %s/%s", pod.Namespace, pod.Name),
			}})
	}
	if len(conditions) > 0 {
		patch, err := patchConditions(pod, conditions, now)
		return append([]action.Action{patch}, actions...), wait, err
	}
	return actions, wait, nil
}

// disrupted reports whether a pod has a true DisruptionTarget condition.
func disrupted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

// patchConditions sets conditions of a pod, conditional on its resource version.
func patchConditions(pod *corev1.Pod, all []corev1.PodCondition, now time.Time) (action.Action, error) {
	var conditions []map[string]any
	for _, c := range all {
		fields := map[string]any{
			"type": c.Type, "status": c.Status, "lastTransitionTime": metav1.NewTime(now),
			"observedGeneration": pod.Generation,
		}
		if c.Reason != "" {
			fields["reason"], fields["message"] = c.Reason, c.Message
		}
		conditions = append(conditions, fields)
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   map[string]any{"conditions": conditions},
	})
	return action.Patch[*corev1.Pod]{
		Resource: pods.Resource, Object: pod, Subresource: "status", Type: types.StrategicMergePatchType, Body: body,
		Verb: "set the conditions of",
	}, err
}
