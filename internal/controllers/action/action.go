// Package action is what the built-in controllers decide to do, as values: a decision is a function from what was observed to
// a list of actions, which a test reads and a Hand carries out. Each action is one write to the API, made such that it may be
// carried out again, or by two at a time, and the result is that of once.
package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
)

// Action is one thing to do. Its String says what, for tests and errors.
type Action interface {
	fmt.Stringer
	// Do does it. Who carries out a list of actions calls Hand.Do.
	Do(ctx context.Context, by *Hand) error
}

// Hand carries out actions. It may be used by many goroutines.
type Hand struct {
	// Client writes. Writes are those of the controller whose context Do is given.
	Client *client.Client
	// Events tells people about it.
	Events *controller.Recorder
}

// NewHand makes a hand for a controller of a manager, which tells of events in the name of a component.
func NewHand(m *controller.Manager, component string) *Hand {
	return &Hand{Client: m.Client(), Events: m.Recorder(component)}
}

// errGone is what the write of a status ends with whose object is there no more. The cache will show that, and then it is forgotten.
var errGone = errors.New("it is gone")

// Do carries out actions in order, until one fails, or finds that what its status was to be written of is gone: that is no failure, and
// nobody is told what followed from how it was. The result is when to look again, if an action says so.
func (h *Hand) Do(ctx context.Context, actions ...Action) (controller.Result, error) {
	var result controller.Result
	for _, a := range actions {
		if again, ok := a.(Again); ok {
			after := max(again.After, time.Nanosecond) // a result of 0 is not at all
			if result.RequeueAfter == 0 || after < result.RequeueAfter {
				result.RequeueAfter = after
			}
			continue
		}
		switch err := a.Do(ctx, h); {
		case errors.Is(err, errGone):
			return controller.Result{}, nil
		case err != nil:
			return result, err
		}
	}
	return result, nil
}

// Again is to look again after some time, or at once when that is over; of several, the soonest counts.
type Again struct{ After time.Duration }

func (a Again) String() string { return fmt.Sprintf("look again in %s", a.After) }

func (a Again) Do(context.Context, *Hand) error { return nil }

// Together is actions that do not depend on each other. One is tried first, then two at a time, then four, and so on, so that
// what can never succeed is not tried a thousand times at once. After a failure nothing more is begun; of several, the first in
// the list is told.
type Together []Action

func (t Together) String() string {
	switch len(t) {
	case 0:
		return "nothing"
	case 1:
		return t[0].String()
	}
	return fmt.Sprintf("%d at a time: %s, ...", len(t), t[0])
}

// widest is how many actions are carried out at a time at most.
const widest = 64

func (t Together) Do(ctx context.Context, by *Hand) error {
	for _, batch := range t.batches() {
		if err := batch.atOnce(ctx, by); err != nil {
			return err
		}
	}
	return nil
}

// batches are the actions that are carried out at a time.
func (t Together) batches() (all []Together) {
	for width := 1; len(t) > 0; width = min(2*width, widest) {
		batch := t[:min(width, len(t))]
		t = t[len(batch):]
		all = append(all, batch)
	}
	return all
}

func (t Together) atOnce(ctx context.Context, by *Hand) error {
	if len(t) == 1 {
		return t[0].Do(ctx, by)
	}
	failures := make([]error, len(t))
	var all sync.WaitGroup
	for i, a := range t {
		all.Go(func() { failures[i] = guarded(ctx, a, by) })
	}
	all.Wait()
	return cmp.Or(failures...)
}

// Otherwise is an action and, if that fails, another one that says so. It fails as the first one does.
type Otherwise struct {
	Action
	Else func(error) Action
}

func (o Otherwise) Do(ctx context.Context, by *Hand) error {
	err := o.Action.Do(ctx, by)
	if err == nil {
		return nil
	}
	if failed := o.Else(err).Do(ctx, by); failed != nil {
		return fmt.Errorf("%w; and it could not be said: %v", err, failed)
	}
	return err
}

// Then is an action and what the controller itself does once that has succeeded.
type Then struct {
	Action
	Done func()
}

func (t Then) Do(ctx context.Context, by *Hand) error {
	err := t.Action.Do(ctx, by)
	if err == nil {
		t.Done()
	}
	return err
}

// guarded makes an error of a panic, which would end the process in a goroutine of its own.
func guarded(ctx context.Context, a Action, by *Hand) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", a, p)
		}
	}()
	return a.Do(ctx, by)
}
