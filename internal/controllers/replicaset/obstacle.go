package replicaset

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// The limits for a set that creates pods that do not last.
const (
	// maxImmediate is how many pods are replaced at once.
	maxImmediate = 3
	// maxBackoff limits the delay before the next pod is created.
	maxBackoff = 5 * time.Minute
)

// backoff returns the delay before the next pod is created, which doubles with each pod.
func backoff(times int) time.Duration { return min(time.Second<<min(times, 16), maxBackoff) }

// obstacle is the reason why a set creates one pod at a time with a back-off: its pods do not last.
type obstacle interface {
	error
	// reason is the reason of the condition and the event.
	reason() string
	// delay returns for how long no pod may be created.
	delay(now time.Time) time.Duration
}

// obstacle returns what prevents a set from having its pods, or nil.
func (s Observed) obstacle() obstacle {
	if s.Loss.isRepeated() {
		return s.Loss
	}
	if f := s.failures(); f.isRepeated() && s.ready() < s.Replicas {
		return f
	}
	return nil
}

// ready returns how many pods of the set are ready.
func (s Observed) ready() (count int) {
	for _, pod := range s.active() {
		if pods.IsReady(pod) {
			count++
		}
	}
	return count
}

// recheckAfter returns when to check the obstacle again: when the next pod may be created or the existing ones
// have lasted; 0 if there is none.
func (s Observed) recheckAfter() time.Duration {
	t := s.obstacle()
	if t == nil {
		return 0
	}
	if wait := t.delay(s.Now); wait > 0 {
		return wait
	}
	if s.Loss.isRepeated() {
		return s.untilPodsLast()
	}
	return 0
}

// A pod that has failed, for example because its node rejected or evicted it, is replaced at once. If its
// replacements fail too, this would go on without end. So once at least as many pods have failed as the set
// has, and at least maxImmediate, the delay before each further pod doubles. It depends on the existing failed
// pods only: when they are deleted, the next pod is created at once.

// recent limits the age of the failed pods that count.
const recent = time.Hour

// failures counts the failed pods of a set.
type failures struct {
	// count is how many have failed, immediate how many may fail without a delay; last is the newest of them.
	count, immediate int
	last             *corev1.Pod
	// lastAttempt is when the newest pod was created that has failed or is not ready.
	lastAttempt time.Time
}

// failures counts the failed pods.
func (s Observed) failures() failures {
	f := failures{immediate: max(maxImmediate, s.Replicas)}
	for _, pod := range s.Pods {
		created := pod.CreationTimestamp.Time
		if pod.Status.Phase != corev1.PodFailed || s.Now.Sub(created) > recent ||
			!metav1.IsControlledBy(pod, s.Object) {
			continue
		}
		f.count++
		if f.last == nil || created.After(f.last.CreationTimestamp.Time) {
			f.last, f.lastAttempt = pod, created
		}
	}
	for _, pod := range s.active() {
		if created := pod.CreationTimestamp.Time; created.After(f.lastAttempt) && !pods.IsReady(pod) {
			f.lastAttempt = created
		}
	}
	return f
}

func (f failures) isRepeated() bool { return f.count >= f.immediate }

func (f failures) delay(now time.Time) time.Duration {
	return bounded.Remaining(backoff(f.count-f.immediate), f.lastAttempt, now)
}

func (f failures) reason() string { return "FailingPods" }

func (f failures) Error() string {
	why := f.last.Status.Reason
	if message := f.last.Status.Message; message != "" {
		why += ": " + message
	}
	return fmt.Sprintf("%d pods created within %s have failed, the last one, %q, with %q; "+
		"others are created one at a time with a growing delay, and at once when the failed ones are deleted", f.count,
		recent,
		f.last.Name, why)
}
