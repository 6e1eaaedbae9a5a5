package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/object"
)

// initialization is how long a create waits for initializers.
const initialization = 30 * time.Second

// asksUninitialized says whether a client asks for objects that initializers have still to act on or, of a create, does not
// wait for them.
func asksUninitialized(q url.Values) bool {
	values, asked := q["includeUninitialized"]
	return asked && boolParameter(values)
}

// typeOf is what a change is to a watcher of what is selected, and false when it sees nothing of it.
func (s *selection) typeOf(e *object.Event) (watch.EventType, bool) {
	if s.everything() && (s.uninitialized || !e.ConcernsUninitialized()) {
		return e.Type(), true
	}
	return e.TypeFor(s.matches)
}

// May implements admission.Rights.
func (c *call) May(ctx context.Context, verb string) error {
	other := *c.route
	other.verb = verb
	return c.server.authorize(ctx, other, c.user)
}

// tidyNull takes null for nothing, in an object that is new.
func tidyNull(obj kind.Object) {
	if kind.SaysInitializers(obj) && kind.InitializersOf(obj) == nil {
		kind.SetInitializers(obj, nil)
	}
}

// tidyInitializers leaves a new state with initializers only where one has still to act, or has given up. A write of a part of
// the object does not change them. old is nil for a create.
func tidyInitializers(obj, old kind.Object, sub string) {
	says := kind.SaysInitializers(obj)
	if sub != "" && (says || kind.SaysInitializers(old)) {
		kind.SetInitializers(obj, kind.InitializersOf(old))
		return
	}
	if !says {
		return
	}
	is := kind.InitializersOf(obj)
	// Who empties a list of several takes away more than the first: admission says so.
	if is == nil || is.IsEmpty() && (old == nil || len(kind.InitializersOf(old).Names()) <= 1) {
		kind.SetInitializers(obj, nil)
	}
}

// keepInitializers gives the new state of a PUT those of the current one where it says nothing of them: clients whose types
// have no field for them lose it.
func keepInitializers(obj, current kind.Object) kind.Object {
	if !kind.SaysInitializers(obj) && kind.SaysInitializers(current) {
		kind.SetInitializers(obj, kind.InitializersOf(current))
	}
	return obj
}

// takeInitializers takes them out of an object, which may be nil, for a library to merge it that knows none.
func takeInitializers(obj kind.Object) *kind.Initializers {
	if obj == nil || !kind.SaysInitializers(obj) {
		return nil
	}
	taken := kind.InitializersOf(obj)
	kind.SetInitializers(obj, nil)
	return taken
}

// withInitializers gives an object those that were taken.
func withInitializers(obj kind.Object, taken *kind.Initializers) kind.Object {
	if taken != nil {
		kind.SetInitializers(obj, taken)
	}
	return obj
}

// beside takes the initializers of both states away until back is called: nobody owns them.
func beside(obj, old kind.Object) (back func()) {
	back = func() {}
	for _, o := range []kind.Object{obj, old} {
		if o == nil || !kind.SaysInitializers(o) {
			continue
		}
		before, again := back, kind.WithoutInitializers(o)
		back = func() { before(); again() }
	}
	return back
}

// initialized waits until initializers are done with a new object, and is the object as they leave it. Others work meanwhile:
// who waits holds no seat.
func (s *Server) initialized(c *call, o writeOptions, made *object.Object) (*object.Object, error) {
	if o.uninitialized || !made.Uninitialized() {
		return made, nil
	}
	changes, err := s.store.Watch(made.Key, made.Revision)
	if err != nil {
		return nil, err
	}
	defer changes.Stop()
	c.exchange.seats.Leave()
	timer := time.NewTimer(initialization)
	defer timer.Stop()
	for latest := made; ; {
		changed := changes.Changed()
		events, err := changes.Take(batch)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.Deleted {
				return nil, c.notInitialized(e.Object)
			}
			if latest = e.Object; !latest.Uninitialized() {
				return latest, nil
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-timer.C:
			return nil, c.stillWaiting(latest)
		case <-c.context().Done():
			if errors.Is(c.context().Err(), context.DeadlineExceeded) {
				return nil, c.stillWaiting(latest)
			}
			return nil, c.context().Err()
		case <-s.ctx.Done():
			return nil, store.ErrClosed
		}
	}
}

// stillWaiting is the 504 of a create that initializers were too slow for: the object is there, and waits for them.
func (c *call) stillWaiting(latest *object.Object) error {
	return apierrors.NewTimeoutError(fmt.Sprintf(
		"server has timed out waiting for the initialization of %s %s: it is created, and pending are %s",
		c.resource(), latest.Key.Name(), strings.ReplaceAll(latest.Fields[object.InitializersField], ",", ", ")), 0)
}

// notInitialized is what the creator of an object hears when it was deleted before it was initialized: why an initializer gave
// it up, if one did.
func (c *call) notInitialized(last *object.Object) error {
	obj, err := decoded(c.kind, last)
	if err != nil {
		return err
	}
	if i := kind.InitializersOf(obj); i != nil && i.Result != nil {
		status := *i.Result
		if status.Code < http.StatusBadRequest || status.Code > 599 {
			status.Code = http.StatusInternalServerError
		}
		return &apierrors.StatusError{ErrStatus: status}
	}
	return apierrors.NewInternalError(errors.New("object deleted while waiting for creation"))
}

// gaveUp says that an initializer has given up an object that is about to be written.
func gaveUp(obj kind.Object) bool {
	i := kind.InitializersOf(obj)
	return i != nil && i.Result != nil
}

// giveUp deletes what an initializer gave up, whatever finalizers it has, since nobody has seen it. Its last state says why, to
// its creator and to who watches: there is no state of the server in which it is given up and still there.
func (s *Server) giveUp(c *call, current *object.Object, obj kind.Object) (*written, error) {
	last, err := read(c.kind, current)
	if err != nil {
		return nil, err
	}
	said := *kind.InitializersOf(last)
	said.Result = kind.InitializersOf(obj).Result
	kind.SetInitializers(last, &said)
	change := store.Change{Key: current.Key}
	c.spans.at(stageEncode)
	if change.Last, err = encode(c.kind, last, current.Form()); err != nil {
		return nil, err
	}
	c.spans.at(stageCommit)
	return s.finish(c.context(), c.kind, change, current, obj)
}
