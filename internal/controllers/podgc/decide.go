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

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// state is how a node is.
type state int

const (
	// solid is one that looks after its pods itself.
	solid state = iota
	// none is that of pods that are on no node.
	none
	// missing is one that is not there, and may be about to come.
	missing
	// gone is one that is not there.
	gone
	// outOfService is one that an administrator has declared dead.
	outOfService
)

// seen is what a decision is made of: a node, and the pods on it.
type seen struct {
	state state
	wait  time.Duration // until a missing node is a gone one
	pods  []*corev1.Pod
	now   time.Time
}

// decide says which pods go.
func decide(s seen) []action.Action {
	if s.state == missing {
		return []action.Action{action.Again{After: s.wait}}
	}
	var all action.Together
	for _, pod := range s.pods {
		switch {
		case s.state == gone:
			all = append(all, remove(pod, lost(s.now, pod))...)
		case pod.DeletionTimestamp != nil && s.state != solid:
			all = append(all, remove(pod, nil)...)
		}
	}
	return together(all)
}

func together(all action.Together) []action.Action {
	if len(all) == 0 {
		return nil
	}
	return []action.Action{all}
}

// decideEnded says which pods that have ended go when there are too many of them: those that were evicted, and then the oldest.
func decideEnded(ended iter.Seq[*corev1.Pod], count, most int) []action.Action {
	var removed action.Together
	for _, pod := range first(ended, count-most) {
		removed = append(removed, remove(pod, nil)...)
	}
	return together(removed)
}

// first are so many pods that go before all others, in order. It does not sort those, which are thousands where one is too many.
func first(ended iter.Seq[*corev1.Pod], count int) []*corev1.Pod {
	if count <= 0 {
		return nil
	}
	var ends last
	for pod := range ended {
		switch {
		case len(ends) < count:
			heap.Push(&ends, pod)
		case sooner(pod, ends[0]) < 0:
			ends[0] = pod
			heap.Fix(&ends, 0)
		}
	}
	slices.SortFunc(ends, sooner)
	return ends
}

// last is a heap of pods: on top is the one that goes last.
type last []*corev1.Pod

func (l last) Len() int           { return len(l) }
func (l last) Less(i, j int) bool { return sooner(l[i], l[j]) > 0 }
func (l last) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *last) Push(pod any)      { *l = append(*l, pod.(*corev1.Pod)) }
func (l *last) Pop() any          { panic("none is taken off") }

// sooner compares pods by which one goes first.
func sooner(a, b *corev1.Pod) int {
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

// isOutOfService says that an administrator has tainted a node that is not ready as dead.
func isOutOfService(node *corev1.Node) bool {
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return !ready && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}

// removal removes a pod at once, which is said to have failed before if it has not ended: nobody else would.
type removal struct {
	mark action.Action // nil for one that has ended
	action.Delete[*corev1.Pod]
}

func (r removal) String() string {
	if r.mark == nil {
		return r.Delete.String()
	}
	return r.mark.String() + ", " + r.Delete.String()
}

func (r removal) Do(ctx context.Context, by *action.Hand) error {
	if r.mark != nil {
		if err := r.mark.Do(ctx, by); err != nil {
			return err
		}
	}
	return r.Delete.Do(ctx, by)
}

// remove removes a pod, because of a condition where there is one. There is nothing to do about one of which only finalizers
// are left.
func remove(pod *corev1.Pod, because *corev1.PodCondition) []action.Action {
	ended := pods.HasEnded(pod)
	if ended && pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 {
		return nil
	}
	r := removal{Delete: action.Delete[*corev1.Pod]{In: pods.Resource, Object: pod, AtOnce: true}}
	if !ended {
		r.mark = fail(pod, because)
	}
	return []action.Action{r}
}

// lost is why a pod goes whose node is gone. It may have had to go before, since when it has.
func lost(now time.Time, pod *corev1.Pod) *corev1.PodCondition {
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

// fail says that a pod has failed.
func fail(pod *corev1.Pod, because *corev1.PodCondition) action.Action {
	status := map[string]any{"phase": corev1.PodFailed}
	if pod.Generation > 0 {
		status["observedGeneration"] = pod.Generation
	}
	if because != nil {
		status["conditions"] = []*corev1.PodCondition{because}
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		panic(err) // strings, numbers and times
	}
	return action.Patch[*corev1.Pod]{
		In: pods.Resource, Object: pod, Subresource: "status", Type: types.StrategicMergePatchType, Body: body, Does: "mark failed",
	}
}
