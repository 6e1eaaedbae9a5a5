package replicaset

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Failed pods with creation times in the future, as after a restored backup, delay the next pod no longer than others.
func TestBackoffWithExtremeCreationTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		CreationTimestamp: metav1.NewTime(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))}}
	f := failures{count: 4, immediate: 3, last: pod, lastAttempt: pod.CreationTimestamp.Time}
	if got := f.delay(now); got != backoff(1) {
		t.Errorf("got a delay of %s, want %s", got, backoff(1))
	}
}
