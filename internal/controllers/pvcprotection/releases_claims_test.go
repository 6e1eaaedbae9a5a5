package pvcprotection

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod that is replaced by one of the same name is reported as added, which releases nothing.
func TestShutDownPodsReleaseClaims(t *testing.T) {
	t.Parallel()
	runs := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	ended := runs.DeepCopy()
	ended.DeletionTimestamp, ended.DeletionGracePeriodSeconds = &metav1.Time{}, new(int64)
	for _, c := range []struct {
		old, now *corev1.Pod
		want     bool
	}{
		{nil, runs, false}, {runs, runs, false}, {runs, nil, true}, {runs, ended, true},
	} {
		if got := releasesClaims(c.old, c.now); got != c.want {
			t.Errorf("change from %v to %v: got %t, want %t", c.old, c.now, got, c.want)
		}
	}
}
