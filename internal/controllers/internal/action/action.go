// Package action represents the writes that the built-in controllers decide on as values. A controller's
// decision is a function from the observed state to a list of actions; tests compare the list, and an
// Executor carries it out. An action is one write to the API, and is idempotent: carried out twice, or by two
// controllers at once, it has the effect of one.
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

// Action is one write, or another step that a controller decided on. String describes it in tests and errors.
type Action interface {
	fmt.Stringer
	// Do carries out this action alone. To carry out a list, use Executor.Do.
	Do(ctx context.Context, exec *Executor) error
}

// Executor carries out actions. It is safe for concurrent use.
type Executor struct {
	// Client sends the requests. They are attributed to the controller whose context is passed to Do.
	Client *client.Client
	// Recorder records the events of actions; nil records none.
	Recorder *controller.Recorder
}

// NewExecutor returns an executor for a controller of m. Its events name component as their source.
func NewExecutor(m *controller.Manager, component string) *Executor {
	return &Executor{Client: m.Client(), Recorder: m.Recorder(component)}
}

// errGone is returned by a status update whose object no longer exists. Executor.Do stops at it without an
// error; the deletion will reach the cache.
var errGone = errors.New("object does not exist")

// Do carries out actions in order until one fails. It also stops, without an error, when the object of a
// status update no longer exists: the remaining actions were decided on for that object. The result requeues
// the request after the shortest delay of the Requeue actions, if there are any.
func (exec *Executor) Do(ctx context.Context, actions ...Action) (controller.Result, error) {
	var result controller.Result
	for _, a := range actions {
		if requeue, ok := a.(Requeue); ok {
			after := max(requeue.After, time.Nanosecond) // a RequeueAfter of 0 would not requeue
			if result.RequeueAfter == 0 || after < result.RequeueAfter {
				result.RequeueAfter = after
			}
			continue
		}
		switch err := a.Do(ctx, exec); {
		case errors.Is(err, errGone):
			return controller.Result{}, nil
		case err != nil:
			return result, err
		}
	}
	return result, nil
}

// Requeue requeues the request after a delay, or at once if the delay is not positive. The shortest of
// several delays counts.
type Requeue struct{ After time.Duration }

func (a Requeue) String() string { return fmt.Sprintf("requeue after %s", a.After) }

func (a Requeue) Do(context.Context, *Executor) error { return nil }

// Parallel is a list of actions that do not depend on each other. They run in batches of 1, 2, 4 and so on up
// to maxParallel, so that actions that are all going to fail do not all reach the server. After a batch with
// a failure, no further batch starts. Do returns the error of the first action in the list that failed.
type Parallel []Action

func (t Parallel) String() string {
	switch len(t) {
	case 0:
		return "nothing"
	case 1:
		return t[0].String()
	}
	return fmt.Sprintf("%d in parallel: %s, ...", len(t), t[0])
}

// maxParallel limits how many actions run at the same time.
const maxParallel = 64

func (t Parallel) Do(ctx context.Context, exec *Executor) error {
	for _, batch := range t.batches() {
		if err := batch.doAll(ctx, exec); err != nil {
			return err
		}
	}
	return nil
}

// batches splits the list into the batches that run one after the other.
func (t Parallel) batches() (all []Parallel) {
	for width := 1; len(t) > 0; width = min(2*width, maxParallel) {
		batch := t[:min(width, len(t))]
		t = t[len(batch):]
		all = append(all, batch)
	}
	return all
}

func (t Parallel) doAll(ctx context.Context, exec *Executor) error {
	if len(t) == 1 {
		return t[0].Do(ctx, exec)
	}
	failures := make([]error, len(t))
	var all sync.WaitGroup
	for i, a := range t {
		all.Go(func() { failures[i] = doRecovering(ctx, a, exec) })
	}
	all.Wait()
	return cmp.Or(failures...)
}

// OnFailure runs Action and, if it fails, the action that Else returns for its error. Do returns the error of
// Action.
type OnFailure struct {
	Action
	Else func(error) Action
}

func (o OnFailure) Do(ctx context.Context, exec *Executor) error {
	err := o.Action.Do(ctx, exec)
	if err == nil {
		return nil
	}
	if reportErr := o.Else(err).Do(ctx, exec); reportErr != nil {
		return fmt.Errorf("%w; reporting it failed as well: %v", err, reportErr)
	}
	return err
}

// OnSuccess runs Action and then, if it succeeded, calls Done.
type OnSuccess struct {
	Action
	Done func()
}

func (t OnSuccess) Do(ctx context.Context, exec *Executor) error {
	err := t.Action.Do(ctx, exec)
	if err == nil {
		t.Done()
	}
	return err
}

// doRecovering runs an action and converts a panic into an error: in its own goroutine a panic would end the
// process.
func doRecovering(ctx context.Context, a Action, exec *Executor) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", a, p)
		}
	}()
	return a.Do(ctx, exec)
}
