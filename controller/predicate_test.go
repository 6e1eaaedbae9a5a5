package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podWith returns a pod that change has modified.
func podWith(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", ResourceVersion: "1", Generation: 1,
		Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1", "b": "1"},
	}}
	if change != nil {
		pod.ResourceVersion = "2"
		change(pod)
	}
	return pod
}

func TestPredicates(t *testing.T) {
	t.Parallel()
	old := podWith(nil)
	changes := map[string]Change{
		"added":      {New: old},
		"deleted":    {Old: old},
		"resync":     {Old: old, New: old},
		"generation": {Old: old, New: podWith(func(p *corev1.Pod) { p.Generation++ })},
		"labels":     {Old: old, New: podWith(func(p *corev1.Pod) { p.Labels["l"] = "2" })},
		"a":          {Old: old, New: podWith(func(p *corev1.Pod) { p.Annotations["a"] = "2" })},
		"b gone":     {Old: old, New: podWith(func(p *corev1.Pod) { delete(p.Annotations, "b") })},
		"status": {Old: old, New: podWith(func(p *corev1.Pod) {
			p.Status.StartTime = &metav1.Time{Time: time.Unix(1, 0)}
		})},
	}
	started := If(func(old, new *corev1.Pod) bool {
		return old != nil && new != nil && old.Status.StartTime == nil && new.Status.StartTime != nil
	})
	for name, test := range map[string]struct {
		predicate Predicate
		passes    []string
	}{
		"GenerationChanged": {GenerationChanged, []string{"added", "deleted", "generation"}},
		"LabelsChanged":     {LabelsChanged, []string{"added", "deleted", "labels"}},
		"ResourceVersionChanged": {ResourceVersionChanged,
			[]string{"added", "deleted", "generation", "labels", "a", "b gone", "status"}},
		"Or": {Or(GenerationChanged, Resynced), []string{"added", "deleted", "generation", "resync"}},
		"If": {started, []string{"status"}},
	} {
		passed := map[string]bool{}
		for _, change := range test.passes {
			passed[change] = true
		}
		for change, c := range changes {
			if got := test.predicate(c); got != passed[change] {
				t.Errorf("%s: passes %q: got %v", name, change, got)
			}
		}
	}
}
