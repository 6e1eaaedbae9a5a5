// Package failing spaces out what controllers do about pods that fail, or are taken from them, again and again: whoever
// replaces each at once is busy for nothing, and keeps the server and the nodes so. The first failure is followed by a second's
// pause, each other one by twice as long, up to a quarter of an hour, as Kubernetes has it for DaemonSets.
package failing

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/controllers/action"
)

const (
	shortest = time.Second
	longest  = 15 * time.Minute
	often    = 4 * shortest // the third pause
)

// Pauses are those of one controller. They may be used by many goroutines, and are forgotten when the process ends. The zero value has
// none.
type Pauses struct {
	mu sync.Mutex
	of map[string]pause
}

// pause is the last one in a place.
type pause struct {
	begun time.Time
	long  time.Duration
}

// New makes pauses.
func New() *Pauses { return &Pauses{} }

// Left is how long to leave the failed pod in a place alone before it is looked at again; 0 when it may be replaced. The place is
// where the pods come one after the other: an ordinal of a set, a set's pod on a node.
func (p *Pauses) Left(place string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.of[place]
	return max(0, last.begun.Add(last.long).Sub(now))
}

// Often says that what happened in a place has happened there before, three times at least and one soon after the other.
func (p *Pauses) Often(place string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[place].long >= often
}

// begin begins the next pause in a place. Those are forgotten that were long ago: in their places it begins anew.
func (p *Pauses) begin(place string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.of, func(_ string, last pause) bool { return now.Sub(last.begun) > 2*longest })
	if p.of == nil {
		p.of = map[string]pause{}
	}
	p.of[place] = pause{now, min(max(2*p.of[place].long, shortest), longest)}
}

// Before is an action that replaces a failed pod, with a pause after it.
func (p *Pauses) Before(place string, a action.Action) action.Action { return paused{a, p, place} }

// paused is an action after which its place is left alone for a while.
type paused struct {
	action.Action
	pauses *Pauses
	place  string
}

func (p paused) Do(ctx context.Context, by *action.Hand) error {
	p.pauses.begin(p.place, time.Now())
	return p.Action.Do(ctx, by)
}
