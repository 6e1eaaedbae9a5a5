package replicaset

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podloss"
)

// A set that loses its pods as soon as they are created reports that, and creates one pod at a time with a
// back-off.

// PodLoss counts the pods that a set has lost, until its pods last. The zero value is a set without losses.
type PodLoss struct {
	Lost   int       // number of pods
	LostAt time.Time // when the last one was lost
	// About describes how the last pod was lost.
	About string
}

// isRepeated reports whether pods are lost as soon as they are created.
func (f PodLoss) isRepeated() bool { return f.Lost >= maxImmediate }

// delay returns for how long no pod may be created.
func (f PodLoss) delay(now time.Time) time.Duration {
	if !f.isRepeated() {
		return 0
	}
	return bounded.Remaining(backoff(f.Lost-maxImmediate), f.LostAt, now)
}

func (f PodLoss) reason() string { return podloss.ReasonFightingSelectors }

// Error returns the message of the condition and the event.
func (f PodLoss) Error() string { return podloss.Message(f.About) }

// lossTracker holds the losses of every set, in memory only: after a restart they are counted again.
type lossTracker struct {
	mu     sync.Mutex
	losses map[controller.Request]PodLoss
}

// update updates and returns the PodLoss of a set that has just released pods.
func (f *lossTracker) update(request controller.Request, s Observed, about func(*corev1.Pod) string) PodLoss {
	f.mu.Lock()
	defer f.mu.Unlock()
	loss := f.losses[request]
	for _, pod := range s.Claims.Released {
		if s.Now.Sub(pod.CreationTimestamp.Time) < podloss.MaxAge {
			loss.Lost++
			loss.LostAt, loss.About = s.Now, about(pod)
		}
	}
	switch {
	case loss.Lost == 0:
	case s.untilPodsLast() == 0:
		loss = PodLoss{}
		delete(f.losses, request)
	default:
		f.losses[request] = loss
	}
	return loss
}

// delete deletes the PodLoss of a set that no longer exists.
func (f *lossTracker) delete(request controller.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.losses, request)
}

// untilPodsLast returns how long it takes until all pods of a set that has enough of them are older than
// podloss.MaxAge.
func (s Observed) untilPodsLast() (in time.Duration) {
	active := s.active()
	if len(active) < s.Replicas {
		return podloss.MaxAge
	}
	for _, pod := range active {
		in = max(in, pod.CreationTimestamp.Add(podloss.MaxAge).Sub(s.Now))
	}
	return in
}
