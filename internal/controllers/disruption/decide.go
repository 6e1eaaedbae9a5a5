package disruption

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	budgets "k8s.io/component-helpers/apps/poddisruptionbudget"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// deletionTimeout is how long an evicted pod that is not being deleted counts as gone. After that, its deletion is
// no longer expected.
const deletionTimeout = 2 * time.Minute

// Input is what the controller has observed.
type Input struct {
	Budget *policyv1.PodDisruptionBudget
	// Pods are the pods that the budget selects, sorted by name.
	Pods []*corev1.Pod
	// Others are the selectors of the other budgets in the namespace.
	Others []labels.Selector
	// Scale returns how many pods a pod's controller wants according to the cache, LiveScale according to the
	// server. Both are only called for pods with a controller.
	Scale     func(*corev1.Pod) (Scale, error)
	LiveScale func(context.Context, *corev1.Pod) (Scale, error)
	// Exists asks the server whether a pod of the cache still exists.
	Exists func(*corev1.Pod) bool
	// Reported records the pods that were reported because several budgets select them.
	Reported *ReportedPods
	Now      time.Time
}

// count is how many pods are expected, and how many of them must be healthy. observedScales are the scales that this
// is based on; unmanaged are pods without a controller, which no expected number accounts for.
type count struct {
	expected, desired int32
	observedScales    []observedScale
	unmanaged         []*corev1.Pod
}

// Decide computes the status. If the number of expected pods cannot be determined, the status allows no
// disruptions and states why, and Decide returns the error in addition.
func Decide(s Input) ([]action.Action, error) {
	counted, err := s.count()
	if err != nil {
		return s.write(s.failed(err), nil, func() []action.Action {
			return []action.Action{action.Event{Object: s.Budget, Warning: true,
				Reason:  "CalculateExpectedPodCountFailed",
				Message: fmt.Sprintf("Failed to calculate the number of expected pods: %v", err)}}
		}), err
	}
	disrupted, recheckAfter, events := s.disrupted()
	next := s.Budget.DeepCopy()
	next.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: next.Generation, DisruptedPods: disrupted, Conditions: next.Status.Conditions,
		CurrentHealthy: int32(len(s.healthy(disrupted))), DesiredHealthy: counted.desired,
		ExpectedPods: counted.expected,
	}
	if counted.expected > 0 {
		next.Status.DisruptionsAllowed = max(0, next.Status.CurrentHealthy-counted.desired)
	}
	budgets.UpdateDisruptionAllowedCondition(next)
	actions := s.write(next, counted.observedScales, func() []action.Action {
		return append(events, s.events(counted.unmanaged)...)
	})
	if recheckAfter > 0 {
		actions = append(actions, action.Requeue{After: recheckAfter})
	}
	return actions, nil
}

// write updates the status and records events if the status has changed; events of an unchanged status were
// recorded before. Before it allows more disruptions than the old status, it verifies with the server what
// the status is based on.
func (s Input) write(next *policyv1.PodDisruptionBudget, observedScales []observedScale,
	events func() []action.Action) (actions []action.Action) {
	if equality.Semantic.DeepEqual(next.Status, s.Budget.Status) {
		return nil
	}
	if next.Status.DisruptionsAllowed > s.Budget.Status.DisruptionsAllowed {
		actions = append(actions, unchanged{s.Budget, s.Pods, s.healthy(next.Status.DisruptedPods), observedScales,
			s.LiveScale})
	}
	actions = append(actions, action.Update[*policyv1.PodDisruptionBudget]{Resource: resource, Object: next,
		Subresource: "status"})
	return append(actions, events()...)
}

// failed returns the budget with the status of a failed computation.
func (s Input) failed(err error) *policyv1.PodDisruptionBudget {
	next := s.Budget.DeepCopy()
	next.Status.DisruptionsAllowed = 0
	meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
		Message: err.Error(), ObservedGeneration: next.Status.ObservedGeneration,
		LastTransitionTime: metav1.NewTime(s.Now),
	})
	return next
}

// count determines how many pods are expected and desired.
func (s Input) count() (counted count, err error) {
	spec := s.Budget.Spec
	switch {
	case spec.MaxUnavailable != nil:
		if counted, err = s.sumScales(); err != nil {
			return counted, err
		}
		unavailable, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, int(counted.expected), true)
		counted.desired = bounded.Count(int64(counted.expected) - int64(unavailable))
		return counted, err
	case spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.Int:
		return count{expected: int32(len(s.Pods)), desired: spec.MinAvailable.IntVal}, nil
	case spec.MinAvailable != nil:
		if counted, err = s.sumScales(); err != nil {
			return counted, err
		}
		minimum, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, int(counted.expected), true)
		counted.desired = bounded.Count(int64(minimum))
		return counted, err
	}
	return counted, nil
}

// sumScales adds up how many pods the controllers want.
func (s Input) sumScales() (counted count, err error) {
	scales, visited := map[types.UID]int32{}, map[types.UID]bool{}
	for _, pod := range s.Pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case owner == nil:
			counted.unmanaged = append(counted.unmanaged, pod)
			continue
		case visited[owner.UID]:
			continue
		}
		visited[owner.UID] = true
		scale, err := s.Scale(pod)
		if err != nil {
			return counted, err
		}
		scales[scale.Owner] = scale.Replicas
		counted.observedScales = append(counted.observedScales, observedScale{pod, scale})
	}
	sum := int64(0)
	for replicas := range maps.Values(scales) {
		sum += int64(replicas)
	}
	counted.expected = bounded.Count(sum)
	return counted, nil
}

// disrupted returns the pods noted by evictions that are not being deleted yet, and an event for each that
// exceeded deletionTimeout. recheckAfter is the delay until the next one does, or 0.
func (s Input) disrupted() (pending map[string]metav1.Time, recheckAfter time.Duration, events []action.Action) {
	for _, pod := range s.Pods {
		at, listed := s.Budget.Status.DisruptedPods[pod.Name]
		if !listed || pod.DeletionTimestamp != nil || s.replaced(pod, at) {
			continue
		}
		remaining := at.Add(deletionTimeout).Sub(s.Now)
		if remaining < 0 {
			events = append(events, action.Event{Object: pod, Warning: true, Reason: "NotDeleted", Message: fmt.Sprintf(
				"Pod was expected by PDB %s/%s to be deleted but it wasn't", s.Budget.Namespace, s.Budget.Name)})
			continue
		}
		if pending == nil {
			pending = map[string]metav1.Time{}
		}
		pending[pod.Name] = at
		if recheckAfter == 0 || remaining < recheckAfter {
			recheckAfter = max(remaining, time.Second)
		}
	}
	return pending, recheckAfter, events
}

// replaced reports whether a pod is a successor of the evicted pod of the same name. Timestamps have a
// resolution of one second; within the same second, the server is asked.
func (s Input) replaced(pod *corev1.Pod, evicted metav1.Time) bool {
	switch created := pod.CreationTimestamp; {
	case created.Before(&evicted):
		return false
	case evicted.Before(&created):
		return true
	default:
		return s.Exists(pod)
	}
}

// healthy returns the pods that are ready and not about to be deleted.
func (s Input) healthy(disrupted map[string]metav1.Time) (ready []*corev1.Pod) {
	for _, pod := range s.Pods {
		if _, isDisrupted := disrupted[pod.Name]; !isDisrupted && pod.DeletionTimestamp == nil && pods.IsReady(pod) {
			ready = append(ready, pod)
		}
	}
	return ready
}

// events returns the events about a budget.
func (s Input) events(unmanaged []*corev1.Pod) (events []action.Action) {
	if len(s.Pods) == 0 {
		events = append(events, action.Event{Object: s.Budget, Reason: "NoPods", Message: "No matching pods found"})
	}
	if len(unmanaged) > 0 {
		message := fmt.Sprintf("Pods selected by this PodDisruptionBudget (selector: %v) were found to be unmanaged. "+
			"As a result, the status of the PDB cannot be calculated correctly, which may result in undefined "+
			"behavior. To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.",
			s.Budget.Spec.Selector)
		events = append(events, action.Event{Object: s.Budget, Warning: true, Reason: "UnmanagedPods",
			Message: message})
	}
	return append(events, s.overlapEvents()...)
}
