package pvcprotection

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestAPodLetsGoWhenAnotherHasItsName: a cache that was filled anew tells of both as of one that has changed.
func TestAPodLetsGoWhenAnotherHasItsName(t *testing.T) {
	t.Parallel()
	pod := func(uid types.UID) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: uid}}
	}
	ended := pod("a")
	ended.DeletionTimestamp, ended.DeletionGracePeriodSeconds = &metav1.Time{}, new(int64)
	for _, c := range []struct {
		old, now *corev1.Pod
		lets     bool
	}{
		{nil, pod("a"), false}, {pod("a"), pod("a"), false}, {pod("a"), nil, true}, {pod("a"), ended, true}, {pod("a"), pod("b"), true},
	} {
		if got := lets(c.old, c.now); got != c.lets {
			t.Errorf("from %v to %v: %v", c.old, c.now, got)
		}
	}
}
