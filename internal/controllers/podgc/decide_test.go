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
		t.Errorf("the evicted ones are not the first: %s, %s", sorted[9].Name, sorted[10].Name)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, most := range []int{0, 1, 50, 99, 100, 101} {
		var want []string
		for _, pod := range sorted[:max(0, len(all)-most)] {
			want = append(want, "delete pod/"+pod.Name)
		}
		var got []string
		for _, pod := range first(slices.Values(all), len(all)-most) {
			got = append(got, remove(pod, nil)[0].String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("of 100 all but %d go, %v, and should be %v", most, got, want)
		}
	}
}

// The transition time of a condition is when it became true, not when it was last written.
func TestDisruptionRetainsItsTransitionTime(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{}
	if at := lost(noon, pod).LastTransitionTime; !at.Time.Equal(noon) {
		t.Errorf("it has had to go since %s", at)
	}
	before := metav1.NewTime(noon.Add(-time.Hour))
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse,
		LastTransitionTime: before}}
	if at := lost(noon, pod).LastTransitionTime; !at.Time.Equal(noon) {
		t.Errorf("it had not had to go, and has since %s", at)
	}
	pod.Status.Conditions[0].Status = corev1.ConditionTrue
	if c := lost(noon, pod); !c.LastTransitionTime.Equal(&before) || !strings.Contains(c.Message, "no longer exists") {
		t.Errorf("it had to go before: %+v", c)
	}
}
