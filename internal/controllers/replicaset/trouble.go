package replicaset

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// The limits for a set that creates pods that do not last.
const (
	// patience is how many pods are replaced at once.
	patience = 3
	// longest limits the delay before the next pod is created.
	longest = 5 * time.Minute
)

// backoff returns the delay before the next pod is created, which doubles with each pod.
func backoff(times int) time.Duration { return min(time.Second<<min(times, 16), longest) }

// trouble is the reason why a set creates one pod at a time with a back-off: its pods do not last.
type trouble interface {
	error
	// reason is the reason of the condition and the event.
	reason() string
	// wait returns for how long no pod may be created.
	wait(now time.Time) time.Duration
}

// trouble returns what prevents a set from having its pods, or nil.
func (s Seen) trouble() trouble {
	if s.Fight.on() {
		return s.Fight
	}
	if f := s.failures(); f.on() && s.ready() < s.Replicas {
		return f
	}
	return nil
}

// ready returns how many pods of the set are ready.
func (s Seen) ready() (count int) {
	for _, pod := range s.mine() {
		if pods.IsReady(pod) {
			count++
		}
	}
	return count
}

// troubledFor returns when to check a trouble again: when the next pod may be created or the existing ones
// have lasted; 0 if there is none.
func (s Seen) troubledFor() time.Duration {
	t := s.trouble()
	if t == nil {
		return 0
	}
	if wait := t.wait(s.Now); wait > 0 {
		return wait
	}
	if s.Fight.on() {
		return s.settles()
	}
	return 0
}

// A pod that has failed, for example because its node rejected or evicted it, is replaced at once. If its
// replacements fail too, this would go on without end. So once at least as many pods have failed as the set
// has, and at least patience, the delay before each further pod doubles. It depends on the existing failed
// pods only: when they are deleted, the next pod is created at once.

// recent limits the age of the failed pods that count.
const recent = time.Hour

// failures counts the failed pods of a set.
type failures struct {
	// count is how many have failed, spare how many may fail without a delay; last is the newest of them.
	count, spare int
	last         *corev1.Pod
	// tried is when the newest pod was created that is not known to be better.
	tried time.Time
}

// failures counts the failed pods.
func (s Seen) failures() failures {
	f := failures{spare: max(patience, s.Replicas)}
	for _, pod := range s.Pods {
		made := pod.CreationTimestamp.Time
		if pod.Status.Phase != corev1.PodFailed || s.Now.Sub(made) > recent || !metav1.IsControlledBy(pod, s.Object) {
			continue
		}
		f.count++
		if f.last == nil || made.After(f.last.CreationTimestamp.Time) {
			f.last, f.tried = pod, made
		}
	}
	for _, pod := range s.mine() {
		if made := pod.CreationTimestamp.Time; made.After(f.tried) && !pods.IsReady(pod) {
			f.tried = made
		}
	}
	return f
}

func (f failures) on() bool { return f.count >= f.spare }

func (f failures) wait(now time.Time) time.Duration {
	return max(0, f.tried.Add(backoff(f.count-f.spare)).Sub(now))
}

func (f failures) reason() string { return "FailingPods" }

func (f failures) Error() string {
	why := f.last.Status.Reason
	if message := f.last.Status.Message; message != "" {
		why += ": " + message
	}
	return fmt.Sprintf("%d pods have failed that were made within %s, the last one, %q, with %q; "+
		"others are made one at a time, ever later, and at once when the failed ones are deleted", f.count, recent,
		f.last.Name, why)
}
