package replicaset

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// How often a set makes pods that do not last.
const (
	// patience is how many of them are replaced at once.
	patience = 3
	// longest is how long a set waits at most before it makes another pod.
	longest = 5 * time.Minute
)

// backoff is how long after a pod that did not last the next one is made, after so many others.
func backoff(times int) time.Duration { return min(time.Second<<min(times, 16), longest) }

// trouble is why a set makes one pod at a time, and that not at once: what it makes does not last.
type trouble interface {
	error
	// reason is that of the condition and of the event that tell of it.
	reason() string
	// wait is how long no pod is to be made.
	wait(now time.Time) time.Duration
}

// trouble is what keeps a set from having its pods, or nil.
func (s Seen) trouble() trouble {
	if s.Fight.on() {
		return s.Fight
	}
	if f := s.failures(); f.on() && s.ready() < s.Replicas {
		return f
	}
	return nil
}

// ready is how many pods of the set can be sent requests.
func (s Seen) ready() (count int) {
	for _, pod := range s.mine() {
		if pods.IsReady(pod) {
			count++
		}
	}
	return count
}

// troubledFor is when to look at a trouble again: when the next pod may be made, or those that are there have lasted; 0 for none.
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

// A pod that has failed for good, such as one that its node refuses or evicts, is replaced at once. Where each new one fails
// too, that has no end: pods without number. So once more of them have failed than the set has, each of the next is made after
// twice as long. It follows from the failed pods alone: who deletes them has it tried again at once.

// recent is how long ago a pod was made at most whose failure counts.
const recent = time.Hour

// failures are the pods of a set that did not last.
type failures struct {
	// count is how many have failed, and spare how many may; last is one of them.
	count, spare int
	last         *corev1.Pod
	// tried is when the last pod was made of which nobody knows yet that it does better.
	tried time.Time
}

// failures looks through the pods of a set.
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
		"others are made one at a time, ever later, and at once when the failed ones are deleted", f.count, recent, f.last.Name, why)
}
