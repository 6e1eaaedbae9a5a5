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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// bind binds a pod to its reserved node. If the server rejects the binding, the reservation is released. If
// the outcome is unknown, the pod keeps its reservation and the same binding is retried.
func (s *scheduler) bind(ctx context.Context, pod *corev1.Pod, node string) (controller.Result, error) {
	_, err := s.executor.Do(ctx, binding{pod, node})
	if err == nil {
		return controller.Result{}, nil
	}
	if !isClientError(err) {
		return controller.Result{}, err
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		controller.Note(ctx, "%v", err)
		s.onBoundElsewhere(informer.KeyOf(pod))
		return controller.Result{}, nil
	}
	s.onBindingRejected(informer.KeyOf(pod))
	actions, failed := rejection(pod, err, time.Now())
	if failed == nil {
		_, failed = s.executor.Do(ctx, actions...)
	}
	return controller.Result{}, errors.Join(err, failed)
}

// isClientError reports whether the server rejected the request with a client error, so that nothing was written.
func isClientError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500
}

// binding is the action that binds a pod to a node.
type binding struct {
	pod  *corev1.Pod
	node string
}

func (b binding) String() string { return fmt.Sprintf("bind pod/%s to node/%s", b.pod.Name, b.node) }

func (b binding) Do(ctx context.Context, exec *action.Executor) error {
	body := &corev1.Binding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: b.pod.Namespace, Name: b.pod.Name, UID: b.pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: b.node},
	}
	err := client.Of[*corev1.Pod](exec.Client, pods.Resource).CreateSubresource(ctx, "binding", body,
		metav1.CreateOptions{})
	if err == nil {
		exec.Recorder.Normal(b.pod, "Scheduled", "Successfully assigned %s/%s to %s", b.pod.Namespace, b.pod.Name,
			b.node)
	}
	return err
}

// actions returns what to do about an unschedulable pod: record the reason, nominate the node, and preempt
// the victims.
func (d *Decision) actions(pod *corev1.Pod, now time.Time) ([]action.Action, error) {
	nomination := d.Nominate
	if d.KeepNomination {
		nomination = pod.Status.NominatedNodeName
	}
	actions, err := unscheduled(pod, corev1.PodReasonUnschedulable, d.Message, nomination, now)
	if err != nil {
		return nil, err
	}
	for _, victim := range d.Victims {
		if victim.DeletionTimestamp != nil {
			continue
		}
		preempts, err := preemption(victim.Pod, pod, d.Nominate, now)
		if err != nil {
			return nil, err
		}
		actions = append(actions, preempts...)
	}
	if len(d.Victims) > 0 {
		return []action.Action{action.Guard{Preconditions: []action.Precondition{unchangedNode{d.Nominate, d.observed}},
			Then: actions}}, nil
	}
	return actions, nil
}

// rejection returns the actions that record a rejected binding.
func rejection(pod *corev1.Pod, err error, now time.Time) ([]action.Action, error) {
	return unscheduled(pod, corev1.PodReasonSchedulerError, "binding rejected: "+err.Error(),
		pod.Status.NominatedNodeName, now)
}

// unscheduled returns the actions that record on a pod why it is not scheduled.
func unscheduled(pod *corev1.Pod, reason, message, nomination string, now time.Time) ([]action.Action, error) {
	event := action.Event{Object: pod, Warning: true, Reason: "FailedScheduling", Message: message}
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: pod.Generation, LastTransitionTime: metav1.NewTime(now),
	}
	previous := conditionOf(pod, corev1.PodScheduled)
	if previous != nil && previous.Status == condition.Status {
		condition.LastTransitionTime, condition.LastProbeTime = previous.LastTransitionTime, previous.LastProbeTime
	}
	if previous != nil && *previous == condition && nomination == pod.Status.NominatedNodeName {
		return []action.Action{event}, nil
	}
	status := map[string]any{"conditions": []corev1.PodCondition{condition}}
	switch {
	case nomination != "":
		status["nominatedNodeName"] = nomination
	case pod.Status.NominatedNodeName != "":
		status["nominatedNodeName"] = nil
	}
	// Conditional on the observed pod: it may have been bound in the meantime.
	metadata := map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion}
	patch, err := patchStatus(pod, metadata, status, "report why no node fits")
	return []action.Action{patch, event}, err
}

// preemption returns the actions that preempt a pod.
func preemption(victim, pod *corev1.Pod, node string, now time.Time) ([]action.Action, error) {
	patch, err := patchStatus(victim, map[string]any{"uid": victim.UID},
		map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
			Message:            Component + ": preempting to accommodate a higher priority pod",
			ObservedGeneration: victim.Generation, LastTransitionTime: metav1.NewTime(now),
		}}}, "mark as preempted")
	return []action.Action{patch, action.Delete[*corev1.Pod]{Resource: pods.Resource, Object: victim,
		Events: action.Events{
			Object: victim, Reason: "Preempted", Message: fmt.Sprintf("Preempted by pod %s on node %s", pod.UID, node),
		}}}, err
}

// patchStatus returns a patch of a pod's status, conditional on the given metadata.
func patchStatus(pod *corev1.Pod, metadata, status map[string]any, verb string) (action.Action, error) {
	body, err := json.Marshal(map[string]any{"metadata": metadata, "status": status})
	return action.Patch[*corev1.Pod]{
		Resource: pods.Resource, Object: pod, Subresource: "status", Type: types.StrategicMergePatchType, Body: body,
		Verb: verb,
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
