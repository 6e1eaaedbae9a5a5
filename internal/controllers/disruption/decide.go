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

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// patience is how long a pod that is evicted counts as gone, although it is not deleted: then it is not going to be.
const patience = 2 * time.Minute

// Seen is what a decision is made of.
type Seen struct {
	Budget *policyv1.PodDisruptionBudget
	// Pods are those that the budget selects, by name.
	Pods []*corev1.Pod
	// Others are the selectors of the other budgets of the namespace.
	Others []labels.Selector
	// Scale is how many pods the controller of a pod wants as the cache shows it, and Wanted as the server has it. They are asked
	// of pods that have one.
	Scale  func(*corev1.Pod) (Scale, error)
	Wanted func(context.Context, *corev1.Pod) (Scale, error)
	// Stays says that the server has a pod still that the cache shows.
	Stays func(*corev1.Pod) bool
	// Fights remembers of which pods it was told that several budgets select them.
	Fights *Fights
	Now    time.Time
}

// count is how many pods there should be, and how many of them healthy. wants are what was found of that; unmanaged are pods that
// nobody makes again, so that nobody knows how many there should be.
type count struct {
	expected, desired int32
	wants             []want
	unmanaged         []*corev1.Pod
}

// Decide counts. When the pods cannot be counted no more may be taken away, the status says why, and the error is that.
func Decide(s Seen) ([]action.Action, error) {
	of, err := s.count()
	if err != nil {
		return s.write(s.failed(err), nil, func() []action.Action {
			return []action.Action{action.Event{About: s.Budget, Warning: true, Reason: "CalculateExpectedPodCountFailed",
				Message: fmt.Sprintf("Failed to calculate the number of expected pods: %v", err)}}
		}), err
	}
	disrupted, again, tell := s.disrupted()
	next := s.Budget.DeepCopy()
	next.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: next.Generation, DisruptedPods: disrupted, Conditions: next.Status.Conditions,
		CurrentHealthy: int32(len(s.healthy(disrupted))), DesiredHealthy: of.desired, ExpectedPods: of.expected,
	}
	if of.expected > 0 {
		next.Status.DisruptionsAllowed = max(0, next.Status.CurrentHealthy-of.desired)
	}
	budgets.UpdateDisruptionAllowedCondition(next)
	actions := s.write(next, of.wants, func() []action.Action { return append(tell, s.events(of.unmanaged)...) })
	if again > 0 {
		actions = append(actions, action.Again{After: again})
	}
	return actions, nil
}

// write writes a status if it is another one, and tells what there is to tell then: else it has been told before. Before it
// allows more than it did, all that it follows from must be as it was seen.
func (s Seen) write(next *policyv1.PodDisruptionBudget, wants []want, tell func() []action.Action) (actions []action.Action) {
	if equality.Semantic.DeepEqual(next.Status, s.Budget.Status) {
		return nil
	}
	if next.Status.DisruptionsAllowed > s.Budget.Status.DisruptionsAllowed {
		actions = append(actions, unchanged{s.Budget, s.Pods, s.healthy(next.Status.DisruptedPods), wants, s.Wanted})
	}
	actions = append(actions, action.Update[*policyv1.PodDisruptionBudget]{In: resource, Object: next, Subresource: "status"})
	return append(actions, tell()...)
}

// failed is the status of what cannot be counted.
func (s Seen) failed(err error) *policyv1.PodDisruptionBudget {
	next := s.Budget.DeepCopy()
	next.Status.DisruptionsAllowed = 0
	meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
		Message: err.Error(), ObservedGeneration: next.Status.ObservedGeneration, LastTransitionTime: metav1.NewTime(s.Now),
	})
	return next
}

// count says how many pods there should be.
func (s Seen) count() (of count, err error) {
	spec := s.Budget.Spec
	switch {
	case spec.MaxUnavailable != nil:
		if of, err = s.wanted(); err != nil {
			return of, err
		}
		missing, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, int(of.expected), true)
		of.desired = max(0, of.expected-int32(missing))
		return of, err
	case spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.Int:
		return count{expected: int32(len(s.Pods)), desired: spec.MinAvailable.IntVal}, nil
	case spec.MinAvailable != nil:
		if of, err = s.wanted(); err != nil {
			return of, err
		}
		least, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, int(of.expected), true)
		of.desired = int32(least)
		return of, err
	}
	return of, nil
}

// wanted counts how many pods their controllers want.
func (s Seen) wanted() (of count, err error) {
	scales, asked := map[types.UID]int32{}, map[types.UID]bool{}
	for _, pod := range s.Pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case owner == nil:
			of.unmanaged = append(of.unmanaged, pod)
			continue
		case asked[owner.UID]:
			continue
		}
		asked[owner.UID] = true
		is, err := s.Scale(pod)
		if err != nil {
			return of, err
		}
		scales[is.Of] = is.Replicas
		of.wants = append(of.wants, want{pod, is})
	}
	for replicas := range maps.Values(scales) {
		of.expected += replicas
	}
	return of, nil
}

// disrupted are the pods that evictions have noted, and that are not deleted yet as far as is known here. again is when to look
// again, or 0. Those that stay longer than they should are told of.
func (s Seen) disrupted() (noted map[string]metav1.Time, again time.Duration, tell []action.Action) {
	for _, pod := range s.Pods {
		at, is := s.Budget.Status.DisruptedPods[pod.Name]
		if !is || pod.DeletionTimestamp != nil || s.replaced(pod, at) {
			continue
		}
		left := at.Add(patience).Sub(s.Now)
		if left < 0 {
			tell = append(tell, action.Event{About: pod, Warning: true, Reason: "NotDeleted", Message: fmt.Sprintf(
				"Pod was expected by PDB %s/%s to be deleted but it wasn't", s.Budget.Namespace, s.Budget.Name)})
			continue
		}
		if noted == nil {
			noted = map[string]metav1.Time{}
		}
		noted[pod.Name] = at
		if again == 0 || left < again {
			again = max(left, time.Second)
		}
	}
	return noted, again, tell
}

// replaced says that a pod is another one than was evicted under its name. Times are in seconds: in the same one, the server
// knows.
func (s Seen) replaced(pod *corev1.Pod, evicted metav1.Time) bool {
	switch made := pod.CreationTimestamp; {
	case made.Before(&evicted):
		return false
	case evicted.Before(&made):
		return true
	default:
		return s.Stays(pod)
	}
}

// healthy are the pods that are ready and stay so.
func (s Seen) healthy(disrupted map[string]metav1.Time) (ready []*corev1.Pod) {
	for _, pod := range s.Pods {
		if _, goes := disrupted[pod.Name]; !goes && pod.DeletionTimestamp == nil && pods.IsReady(pod) {
			ready = append(ready, pod)
		}
	}
	return ready
}

// events are what people should know about a budget.
func (s Seen) events(unmanaged []*corev1.Pod) (tell []action.Action) {
	if len(s.Pods) == 0 {
		tell = append(tell, action.Event{About: s.Budget, Reason: "NoPods", Message: "No matching pods found"})
	}
	if len(unmanaged) > 0 {
		tell = append(tell, action.Event{About: s.Budget, Warning: true, Reason: "UnmanagedPods", Message: fmt.Sprintf(
			"Pods selected by this PodDisruptionBudget (selector: %v) were found to be unmanaged. As a result, the status of the PDB cannot be "+
				"calculated correctly, which may result in undefined behavior. To account for these pods please set \".spec.minAvailable\" "+
				"field of the PDB to an integer value.", s.Budget.Spec.Selector)})
	}
	return append(tell, s.fought()...)
}
