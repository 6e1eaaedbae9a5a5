package disruption

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	budgets "k8s.io/component-helpers/apps/poddisruptionbudget"

	"github.com/bowline-dev/bowline/controllers/action"
	"github.com/bowline-dev/bowline/controllers/pods"
)

// patience is how long a pod that is evicted counts as gone, although it is not deleted: then it is not going to be.
const patience = 2 * time.Minute

// Seen is what a decision is made of.
type Seen struct {
	Budget *policyv1.PodDisruptionBudget
	// Pods are those that the budget selects, by name.
	Pods []*corev1.Pod
	// Others are the other budgets of the namespace.
	Others []*policyv1.PodDisruptionBudget
	// Scale is how many pods the controller of a pod wants. It is asked of pods that have one.
	Scale func(*corev1.Pod) (Scale, error)
	// Stays says that the server has a pod still that the cache shows.
	Stays func(*corev1.Pod) bool
	Now   time.Time
}

// Decide counts. When the pods cannot be counted no more may be taken away, the status says why, and the error is that.
func Decide(s Seen) ([]action.Action, error) {
	expected, desired, unmanaged, err := s.expected()
	if err != nil {
		return s.write(s.failed(err), action.Event{
			About: s.Budget, Warning: true, Reason: "CalculateExpectedPodCountFailed",
			Message: fmt.Sprintf("Failed to calculate the number of expected pods: %v", err),
		}), err
	}
	disrupted, again, tell := s.disrupted()
	next := s.Budget.DeepCopy()
	next.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: next.Generation, DisruptedPods: disrupted, Conditions: next.Status.Conditions,
		CurrentHealthy: int32(len(s.healthy(disrupted))), DesiredHealthy: desired, ExpectedPods: expected,
	}
	if expected > 0 {
		next.Status.DisruptionsAllowed = max(0, next.Status.CurrentHealthy-desired)
	}
	budgets.UpdateDisruptionAllowedCondition(next)
	actions := s.write(next, append(tell, s.events(unmanaged)...)...)
	if again > 0 {
		actions = append(actions, action.Again{After: again})
	}
	return actions, nil
}

// write writes a status if it is another one, and tells what there is to tell then: else it has been told before. Before it allows more
// than it did, the pods that it counts on must be as they were seen.
func (s Seen) write(next *policyv1.PodDisruptionBudget, tell ...action.Action) []action.Action {
	if equality.Semantic.DeepEqual(next.Status, s.Budget.Status) {
		return nil
	}
	if next.Status.DisruptionsAllowed > s.Budget.Status.DisruptionsAllowed {
		tell = append([]action.Action{unchanged{s.Budget, s.healthy(next.Status.DisruptedPods)}}, tell...)
	}
	return append(tell, action.Update[*policyv1.PodDisruptionBudget]{In: resource, Object: next, Subresource: "status"})
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

// expected is how many pods there should be, and how many of them healthy. unmanaged are pods that nobody makes again, so that nobody
// knows how many there should be.
func (s Seen) expected() (expected, desired int32, unmanaged []*corev1.Pod, err error) {
	spec := s.Budget.Spec
	switch {
	case spec.MaxUnavailable != nil:
		if expected, unmanaged, err = s.wanted(); err != nil {
			return 0, 0, nil, err
		}
		missing, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, int(expected), true)
		return expected, max(0, expected-int32(missing)), unmanaged, err
	case spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.Int:
		return int32(len(s.Pods)), spec.MinAvailable.IntVal, nil, nil
	case spec.MinAvailable != nil:
		if expected, unmanaged, err = s.wanted(); err != nil {
			return 0, 0, nil, err
		}
		least, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, int(expected), true)
		return expected, int32(least), unmanaged, err
	}
	return 0, 0, nil, nil
}

// wanted is how many pods their controllers want.
func (s Seen) wanted() (count int32, unmanaged []*corev1.Pod, err error) {
	scales := map[types.UID]int32{}
	asked := map[types.UID]bool{}
	for _, pod := range s.Pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case owner == nil:
			unmanaged = append(unmanaged, pod)
			continue
		case asked[owner.UID]:
			continue
		}
		asked[owner.UID] = true
		of, err := s.Scale(pod)
		if err != nil {
			return 0, nil, err
		}
		scales[of.Of] = of.Replicas
	}
	for replicas := range maps.Values(scales) {
		count += replicas
	}
	return count, unmanaged, nil
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

// replaced says that a pod is another one than was evicted under its name. Times are in seconds: in the same one, the server knows.
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
	for _, pod := range s.Pods {
		if s.fought(pod) {
			tell = append(tell, action.Event{About: pod, Warning: true, Reason: "MultiplePodDisruptionBudgets", Message: fmt.Sprintf(
				"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.Namespace, pod.Name, s.Budget.Name)})
		}
	}
	return tell
}

// fought says that another budget selects a pod too, and that this one, the first of them, is who tells.
func (s Seen) fought(pod *corev1.Pod) (several bool) {
	for _, other := range s.Others {
		if selects(other, pod.Labels) {
			if other.Name < s.Budget.Name {
				return false
			}
			several = true
		}
	}
	return several
}
