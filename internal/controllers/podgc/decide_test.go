package podgc

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// The selection does not depend on the order of the input.
func TestOldestEndedPodsAreDeleted(t *testing.T) {
	t.Parallel()
	var all []*corev1.Pod
	for i := range 100 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name:              fmt.Sprintf("pod-%d", i),
			CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(i/3) * time.Second)),
		}}
		pod.Status.Phase = corev1.PodFailed
		if i%10 == 7 {
			pod.Status.Reason = "Evicted"
		}
		all = append(all, pod)
	}
	sorted := slices.SortedFunc(slices.Values(all), compareDeletion)
	if !wasEvicted(sorted[9]) || wasEvicted(sorted[10]) || sorted[10].Name != "pod-0" {
		t.Errorf("got the 10th and 11th pod %s and %s, want the last evicted pod and pod-0", sorted[9].Name,
			sorted[10].Name)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, limit := range []int{0, 1, 50, 99, 100, 101} {
		var want []string
		for _, pod := range sorted[:max(0, len(all)-limit)] {
			want = append(want, "delete pod/"+pod.Name)
		}
		var got []string
		for _, pod := range firstToDelete(slices.Values(all), len(all)-limit) {
			got = append(got, deletionsOf(pod, nil)[0].String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: got deletions %v, want %v", limit, got, want)
		}
	}
}

// The transition time of a condition is when it became true, not when it was last written.
func TestDisruptionRetainsItsTransitionTime(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{}
	if at := nodeGoneCondition(noon, pod).LastTransitionTime; !at.Time.Equal(noon) {
		t.Errorf("no condition: got transition time %s, want %s", at, noon)
	}
	before := metav1.NewTime(noon.Add(-time.Hour))
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse,
		LastTransitionTime: before}}
	if at := nodeGoneCondition(noon, pod).LastTransitionTime; !at.Time.Equal(noon) {
		t.Errorf("false condition: got transition time %s, want %s", at, noon)
	}
	pod.Status.Conditions[0].Status = corev1.ConditionTrue
	if c := nodeGoneCondition(noon, pod); !c.LastTransitionTime.Equal(&before) ||
		!strings.Contains(c.Message, "no longer exists") {
		t.Errorf("true condition: got %+v, want the transition time %s", c, before)
	}
}

// An ended pod that was marked as deleted waits for its finalizers. Without any, the server ended before it removed the
// pod.
func TestMarkedPodsAreDeletedUnlessTheyWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		finalizers []string
		deletions  int
	}{"waits": {[]string{"example.com/f"}, 0}, "remains": {nil, 1}} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Finalizers: c.finalizers,
			DeletionTimestamp: new(metav1.NewTime(noon)), DeletionGracePeriodSeconds: new(int64(0))}}
		pod.Status.Phase = corev1.PodSucceeded
		if got := deletionsOf(pod, nil); len(got) != c.deletions {
			t.Errorf("a pod that %s: %d deletions, want %d", name, len(got), c.deletions)
		}
	}
}
