package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// bind binds a pod to the node that it was given. When that is refused the room is free again; when it is not known whether it is
// done, the pod keeps it, and the same is tried again.
func (s *scheduler) bind(ctx context.Context, pod *corev1.Pod, node string) (controller.Result, error) {
	_, err := s.hand.Do(ctx, binding{pod, node})
	if err == nil {
		return controller.Result{}, nil
	}
	if !isRefusal(err) {
		return controller.Result{}, err
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		controller.Note(ctx, "%v", err)
		s.late(informer.KeyOf(pod))
		return controller.Result{}, nil
	}
	s.refused(informer.KeyOf(pod))
	actions, failed := rejected(pod, err, time.Now())
	if failed == nil {
		_, failed = s.hand.Do(ctx, actions...)
	}
	return controller.Result{}, errors.Join(err, failed)
}

// isRefusal says that an error is the answer of a server that has not done what it was asked to.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500
}

// binding gives a pod its node.
type binding struct {
	pod  *corev1.Pod
	node string
}

func (b binding) String() string { return fmt.Sprintf("bind pod/%s to node/%s", b.pod.Name, b.node) }

func (b binding) Do(ctx context.Context, by *action.Hand) error {
	body := &corev1.Binding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: b.pod.Namespace, Name: b.pod.Name, UID: b.pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: b.node},
	}
	err := client.Of[*corev1.Pod](by.Client, pods.Resource).CreateSubresource(ctx, "binding", body, metav1.CreateOptions{})
	if err == nil {
		by.Events.Normal(b.pod, "Scheduled", "Successfully assigned %s/%s to %s", b.pod.Namespace, b.pod.Name, b.node)
	}
	return err
}

// actions are what is done about a pod that no node takes: it is told why, promised the node that others are to leave, and those
// are told to.
func (d *Decision) actions(pod *corev1.Pod, now time.Time) ([]action.Action, error) {
	promise := d.Promise
	if d.Keep {
		promise = pod.Status.NominatedNodeName
	}
	actions, err := unscheduled(pod, corev1.PodReasonUnschedulable, d.Message, promise, now)
	if err != nil {
		return nil, err
	}
	for _, victim := range d.Victims {
		if victim.DeletionTimestamp != nil {
			continue
		}
		leave, err := leaving(victim.Pod, pod, d.Promise, now)
		if err != nil {
			return nil, err
		}
		actions = append(actions, leave...)
	}
	if len(d.Victims) > 0 {
		return []action.Action{action.Sure{Asks: []action.Question{unchanged{d.Promise, d.beside}}, Then: actions}}, nil
	}
	return actions, nil
}

// rejected says that a pod could not be bound.
func rejected(pod *corev1.Pod, err error, now time.Time) ([]action.Action, error) {
	return unscheduled(pod, corev1.PodReasonSchedulerError, "binding rejected: "+err.Error(), pod.Status.NominatedNodeName, now)
}

// unscheduled tells a pod why it has no node.
func unscheduled(pod *corev1.Pod, reason, message, promise string, now time.Time) ([]action.Action, error) {
	tell := action.Event{About: pod, Warning: true, Reason: "FailedScheduling", Message: message}
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: pod.Generation, LastTransitionTime: metav1.NewTime(now),
	}
	before := conditionOf(pod, corev1.PodScheduled)
	if before != nil && before.Status == condition.Status {
		condition.LastTransitionTime, condition.LastProbeTime = before.LastTransitionTime, before.LastProbeTime
	}
	if before != nil && *before == condition && promise == pod.Status.NominatedNodeName {
		return []action.Action{tell}, nil
	}
	status := map[string]any{"conditions": []corev1.PodCondition{condition}}
	switch {
	case promise != "":
		status["nominatedNodeName"] = promise
	case pod.Status.NominatedNodeName != "":
		status["nominatedNodeName"] = nil
	}
	// It is about the pod as it was seen: one that was given a node meanwhile is not told that it has none.
	seen := map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion}
	patch, err := patchStatus(pod, seen, status, "tell why there is no node to")
	return []action.Action{patch, tell}, err
}

// leaving tells a pod to leave its node for another one.
func leaving(victim, pod *corev1.Pod, node string, now time.Time) ([]action.Action, error) {
	patch, err := patchStatus(victim, map[string]any{"uid": victim.UID}, map[string]any{"conditions": []corev1.PodCondition{{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message:            Component + ": preempting to accommodate a higher priority pod",
		ObservedGeneration: victim.Generation, LastTransitionTime: metav1.NewTime(now),
	}}}, "mark as preempted")
	return []action.Action{patch, action.Delete[*corev1.Pod]{In: pods.Resource, Object: victim, Tell: action.Tell{
		About: victim, Reason: "Preempted", Message: fmt.Sprintf("Preempted by pod %s on node %s", pod.UID, node),
	}}}, err
}

// patchStatus changes the status of a pod that is as it was seen.
func patchStatus(pod *corev1.Pod, seen, status map[string]any, does string) (action.Action, error) {
	body, err := json.Marshal(map[string]any{"metadata": seen, "status": status})
	return action.Patch[*corev1.Pod]{
		In: pods.Resource, Object: pod, Subresource: "status", Type: types.StrategicMergePatchType, Body: body, Does: does,
	}, err
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
