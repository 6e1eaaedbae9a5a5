package podgc

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// state is the state of a node.
type state int

const (
	// present: the node manages its pods itself.
	present state = iota
	// none: the pods are not bound to a node.
	none
	// missing: the node does not exist, but may be about to register.
	missing
	// gone: the node does not exist.
	gone
	// outOfService: an administrator has declared the node dead.
	outOfService
)

// input is the input of a decision: the state of a node, and its pods.
type input struct {
	state state
	wait  time.Duration // remaining quarantine of a missing node
	pods  []*corev1.Pod
	now   time.Time
}

// decide returns the deletions for the pods of a node.
func decide(s input) []action.Action {
	if s.state == missing {
		return []action.Action{action.Requeue{After: s.wait}}
	}
	var all action.Parallel
	for _, pod := range s.pods {
		switch {
		case s.state == gone:
			all = append(all, deletionsOf(pod, nodeGoneCondition(s.now, pod))...)
		case pod.DeletionTimestamp != nil && s.state != present:
			all = append(all, deletionsOf(pod, nil)...)
		}
	}
	return together(all)
}

func together(all action.Parallel) []action.Action {
	if len(all) == 0 {
		return nil
	}
	return []action.Action{all}
}

// decideEnded deletes ended pods beyond the limit: evicted ones first, then the oldest.
func decideEnded(ended iter.Seq[*corev1.Pod], count, limit int) []action.Action {
	var removed action.Parallel
	for _, pod := range firstToDelete(ended, count-limit) {
		removed = append(removed, deletionsOf(pod, nil)...)
	}
	return together(removed)
}

// firstToDelete returns the count pods that are first in deletion order, sorted. It does not sort the others: often
// only one of thousands is to be deleted.
func firstToDelete(ended iter.Seq[*corev1.Pod], count int) []*corev1.Pod {
	if count <= 0 {
		return nil
	}
	var ends deletionHeap
	for pod := range ended {
		switch {
		case len(ends) < count:
			heap.Push(&ends, pod)
		case compareDeletion(pod, ends[0]) < 0:
			ends[0] = pod
			heap.Fix(&ends, 0)
		}
	}
	slices.SortFunc(ends, compareDeletion)
	return ends
}

// deletionHeap is a heap of pods with the one that is last in deletion order on top.
type deletionHeap []*corev1.Pod

func (l deletionHeap) Len() int           { return len(l) }
func (l deletionHeap) Less(i, j int) bool { return compareDeletion(l[i], l[j]) > 0 }
func (l deletionHeap) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *deletionHeap) Push(pod any)      { *l = append(*l, pod.(*corev1.Pod)) }
func (l *deletionHeap) Pop() any          { panic("Pop is not used") }

// compareDeletion compares pods by deletion order.
func compareDeletion(a, b *corev1.Pod) int {
	if wasEvicted(a) != wasEvicted(b) {
		if wasEvicted(a) {
			return -1
		}
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace))
}

func wasEvicted(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "Evicted"
}

// isOutOfService reports whether a node is not ready and has the out-of-service taint.
func isOutOfService(node *corev1.Node) bool {
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return !ready && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeOutOfService
	})
}

// removal deletes a pod without grace period. A pod that has not ended is marked as failed before, since its
// node cannot do that.
type removal struct {
	mark action.Action // nil for a pod that has ended
	action.Delete[*corev1.Pod]
}

func (r removal) String() string {
	if r.mark == nil {
		return r.Delete.String()
	}
	return r.mark.String() + ", " + r.Delete.String()
}

func (r removal) Do(ctx context.Context, exec *action.Executor) error {
	if r.mark != nil {
		if err := r.mark.Do(ctx, exec); err != nil {
			return err
		}
	}
	return r.Delete.Do(ctx, exec)
}

// deletionsOf returns the deletion of a pod, with a condition that states the reason if there is one. It returns
// nothing for a pod that only waits for finalizers. A pod that waits for nothing remains if the server ended between
// the two steps of its removal.
func deletionsOf(pod *corev1.Pod, condition *corev1.PodCondition) []action.Action {
	ended := pods.IsTerminal(pod)
	if ended && len(pod.Finalizers) > 0 && pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil &&
		*pod.DeletionGracePeriodSeconds == 0 {
		return nil
	}
	r := removal{Delete: action.Delete[*corev1.Pod]{Resource: pods.Resource, Object: pod, Immediate: true}}
	if !ended {
		r.mark = markFailed(pod, condition)
	}
	return []action.Action{r}
}

// nodeGoneCondition returns the condition of a pod whose node no longer exists. It retains the transition time of an
// earlier true condition.
func nodeGoneCondition(now time.Time, pod *corev1.Pod) *corev1.PodCondition {
	since := metav1.NewTime(now).Rfc3339Copy()
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			since = c.LastTransitionTime
		}
	}
	return &corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, ObservedGeneration: pod.Generation,
		LastTransitionTime: since, Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
	}
}

// markFailed marks a pod as failed.
func markFailed(pod *corev1.Pod, condition *corev1.PodCondition) action.Action {
	status := map[string]any{"phase": corev1.PodFailed}
	if pod.Generation > 0 {
		status["observedGeneration"] = pod.Generation
	}
	if condition != nil {
		status["conditions"] = []*corev1.PodCondition{condition}
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		panic(err) // cannot fail: strings, numbers and times
	}
	return action.Patch[*corev1.Pod]{
		Resource: pods.Resource, Object: pod, Subresource: "status", Type: types.StrategicMergePatchType, Body: body,
		Verb: "mark failed",
	}
}
