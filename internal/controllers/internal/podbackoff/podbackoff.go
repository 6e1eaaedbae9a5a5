// Package podbackoff delays the replacement of pods that keep failing or keep being released, which would
// otherwise load the server and the nodes without end. The first delay is 1 s; each further one is twice as
// long, up to 15 minutes, as in Kubernetes' DaemonSet controller.
package podbackoff

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

const (
	minDelay      = time.Second
	maxDelay      = 15 * time.Minute
	repeatedDelay = 4 * minDelay // the third delay
)

// Tracker holds the current delays of one controller, in memory. The zero value is ready for use; it is safe
// for concurrent use.
type Tracker struct {
	mu     sync.Mutex
	delays map[string]delay
}

// delay is the last delay of a key.
type delay struct {
	start    time.Time
	duration time.Duration
}

// New returns a tracker without delays.
func New() *Tracker { return &Tracker{} }

// Remaining returns how long to wait before replacing the failed pod of a key, or 0 if it may be replaced
// now. A key identifies a sequence of pods that replace each other, such as an ordinal of a StatefulSet or a
// node of a DaemonSet.
func (p *Tracker) Remaining(key string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.delays[key]
	return max(0, last.start.Add(last.duration).Sub(now))
}

// IsRepeated reports whether the key has reached its third delay, so at least three failures in close
// succession.
func (p *Tracker) IsRepeated(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delays[key].duration >= repeatedDelay
}

// start starts the next delay of a key. It also drops delays that started more than 2*maxDelay ago, whose
// keys start again with minDelay.
func (p *Tracker) start(key string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.delays, func(_ string, last delay) bool { return now.Sub(last.start) > 2*maxDelay })
	if p.delays == nil {
		p.delays = map[string]delay{}
	}
	p.delays[key] = delay{now, min(max(2*p.delays[key].duration, minDelay), maxDelay)}
}

// StartBefore returns an action that starts the next delay of key and then carries out a, which replaces or
// releases a pod.
func (p *Tracker) StartBefore(key string, a action.Action) action.Action {
	return delayed{a, p, key}
}

// delayed is an action that starts the delay of a key before it runs.
type delayed struct {
	action.Action
	tracker *Tracker
	key     string
}

func (p delayed) Do(ctx context.Context, exec *action.Executor) error {
	p.tracker.start(p.key, time.Now())
	return p.Action.Do(ctx, exec)
}
