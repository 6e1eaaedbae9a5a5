package replicaset

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podloss"
)

// A set that loses its pods as soon as they are created reports that, and creates one pod at a time with a
// back-off.

// Fight counts the pods that a set has lost, until its pods last. The zero value is a set without losses.
type Fight struct {
	Lost int       // number of pods
	Last time.Time // when the last one was lost
	// About describes how the last pod was lost.
	About string
}

// on reports whether pods are lost as soon as they are created.
func (f Fight) on() bool { return f.Lost >= patience }

// wait returns for how long no pod may be created.
func (f Fight) wait(now time.Time) time.Duration {
	if !f.on() {
		return 0
	}
	return max(0, f.Last.Add(backoff(f.Lost-patience)).Sub(now))
}

func (f Fight) reason() string { return podloss.ReasonFightingSelectors }

// Error returns the message of the condition and the event.
func (f Fight) Error() string { return podloss.Message(f.About) }

// fights holds the Fight of every set. They are in memory only: after a restart they are found out again.
type fights struct {
	mu sync.Mutex
	of map[controller.Request]Fight
}

// after updates and returns the Fight of a set that has just released pods.
func (f *fights) after(request controller.Request, s Seen, about func(*corev1.Pod) string) Fight {
	f.mu.Lock()
	defer f.mu.Unlock()
	fight := f.of[request]
	for _, pod := range s.Claims.Released {
		if s.Now.Sub(pod.CreationTimestamp.Time) < podloss.MaxAge {
			fight.Lost++
			fight.Last, fight.About = s.Now, about(pod)
		}
	}
	switch {
	case fight.Lost == 0:
	case s.settles() == 0:
		fight = Fight{}
		delete(f.of, request)
	default:
		f.of[request] = fight
	}
	return fight
}

// over deletes the Fight of a set that no longer exists.
func (f *fights) over(request controller.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, request)
}

// settles returns how long it takes until all pods of a set that has enough of them are older than
// podloss.MaxAge.
func (s Seen) settles() (in time.Duration) {
	mine := s.mine()
	if len(mine) < s.Replicas {
		return podloss.MaxAge
	}
	for _, pod := range mine {
		in = max(in, pod.CreationTimestamp.Add(podloss.MaxAge).Sub(s.Now))
	}
	return in
}
