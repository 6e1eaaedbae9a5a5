// Package failing spaces out what controllers do about pods that fail, or are taken from them, again and again: whoever
// replaces each at once is busy for nothing, and keeps the server and the nodes so. The first failure is followed by a second's
// pause, each other one by twice as long, up to a quarter of an hour, as Kubernetes has it for DaemonSets.
package failing

import (
	"context"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"github.com/bowline-dev/bowline/controllers/action"
)

const (
	shortest = time.Second
	longest  = 15 * time.Minute
	often    = 4 * shortest // the third pause
)

// Pauses are those of one controller. They may be used by many goroutines, and are forgotten when the process ends.
type Pauses struct{ of *flowcontrol.Backoff }

// New makes pauses.
func New() *Pauses { return &Pauses{flowcontrol.NewBackOff(shortest, longest)} }

// Left is how long to leave the failed pod in a place alone before it is looked at again; 0 when it may be replaced. The place is
// where the pods come one after the other: an ordinal of a set, a set's pod on a node.
func (p *Pauses) Left(place string, now time.Time) time.Duration {
	if !p.of.IsInBackOffSinceUpdate(place, now) {
		return 0
	}
	return p.of.Get(place)
}

// Often says that what happened in a place has happened there before, three times at least and one soon after the other.
func (p *Pauses) Often(place string) bool { return p.of.Get(place) >= often }

// Before is an action that replaces a failed pod, with a pause after it.
func (p *Pauses) Before(place string, a action.Action) action.Action { return paused{a, p, place} }

// paused is an action after which its place is left alone for a while.
type paused struct {
	action.Action
	pauses *Pauses
	place  string
}

func (p paused) Do(ctx context.Context, by *action.Hand) error {
	p.pauses.of.GC()
	p.pauses.of.Next(p.place, time.Now())
	return p.Action.Do(ctx, by)
}
