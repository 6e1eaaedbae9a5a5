package replicaset

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/failing"
)

// A set that loses its pods as soon as they are made says so, and makes one at a time, each after twice as long.

// Fight is what a set has lost, until its pods have lasted. The zero value is peace.
type Fight struct {
	Lost int       // pods
	Last time.Time // when the last one was lost
	// About says what has become of it.
	About string
}

// on says that pods are lost as soon as they are made.
func (f Fight) on() bool { return f.Lost >= patience }

// wait is how long no pod is to be made.
func (f Fight) wait(now time.Time) time.Duration {
	if !f.on() {
		return 0
	}
	return max(0, f.Last.Add(backoff(f.Lost-patience)).Sub(now))
}

func (f Fight) reason() string { return failing.ReasonFight }

// Error makes it a failure to keep the pods.
func (f Fight) Error() string { return failing.Fight(f.About) }

// fights are those of all sets, by their names. They are remembered by this process only: the next one finds out again.
type fights struct {
	mu sync.Mutex
	of map[controller.Request]Fight
}

// after is the fight of a set that has let pods go, as the last thing that it did.
func (f *fights) after(request controller.Request, s Seen, about func(*corev1.Pod) string) Fight {
	f.mu.Lock()
	defer f.mu.Unlock()
	fight := f.of[request]
	for _, pod := range s.Claims.Released {
		if s.Now.Sub(pod.CreationTimestamp.Time) < failing.Young {
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

// over forgets the fight of a set that is gone.
func (f *fights) over(request controller.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, request)
}

// settles is how long it takes until each pod of a set that has enough of them is no longer young, if nothing happens.
func (s Seen) settles() (in time.Duration) {
	mine := s.mine()
	if len(mine) < s.Replicas {
		return failing.Young
	}
	for _, pod := range mine {
		in = max(in, pod.CreationTimestamp.Add(failing.Young).Sub(s.Now))
	}
	return in
}
