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
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// initialization is how long a create waits for initializers.
const initialization = 30 * time.Second

// asksUninitialized reports whether a query asks for objects that initializers have not finished, or whether
// a create does not wait for them.
func asksUninitialized(q url.Values) bool {
	values, asked := q["includeUninitialized"]
	return asked && boolParameter(values)
}

// typeOf returns the type of an event for a watcher of the selection, and false if the watcher does not see
// it.
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

// tidyNull removes an initializers field of a new object that is null.
func tidyNull(obj kind.Object) {
	if kind.HasInitializers(obj) && kind.InitializersOf(obj) == nil {
		kind.SetInitializers(obj, nil)
	}
}

// tidyInitializers removes the initializers field unless one is pending or has failed. A write of a
// subresource does not change it. old is nil for a create.
func tidyInitializers(obj, old kind.Object, sub string) {
	says := kind.HasInitializers(obj)
	if sub != "" && (says || kind.HasInitializers(old)) {
		kind.SetInitializers(obj, kind.InitializersOf(old))
		return
	}
	if !says {
		return
	}
	is := kind.InitializersOf(obj)
	// Clearing a list of several initializers removes more than the first: admission rejects that.
	if is == nil || is.IsEmpty() && (old == nil || len(kind.InitializersOf(old).Names()) <= 1) {
		kind.SetInitializers(obj, nil)
	}
}

// keepInitializers copies the initializers of the current object to the state of a PUT that does not have the
// field, since clients whose types lack it drop it.
func keepInitializers(obj, current kind.Object) kind.Object {
	if !kind.HasInitializers(obj) && kind.HasInitializers(current) {
		kind.SetInitializers(obj, kind.InitializersOf(current))
	}
	return obj
}

// takeInitializers removes and returns the initializers of an object, which may be nil: the merge library
// does not know them.
func takeInitializers(obj kind.Object) *kind.Initializers {
	if obj == nil || !kind.HasInitializers(obj) {
		return nil
	}
	taken := kind.InitializersOf(obj)
	kind.SetInitializers(obj, nil)
	return taken
}

// withInitializers sets the initializers that takeInitializers returned.
func withInitializers(obj kind.Object, taken *kind.Initializers) kind.Object {
	if taken != nil {
		kind.SetInitializers(obj, taken)
	}
	return obj
}

// beside removes the initializers of both states until back is called: they are not part of the ownership.
func beside(obj, old kind.Object) (back func()) {
	back = func() {}
	for _, o := range []kind.Object{obj, old} {
		if o == nil || !kind.HasInitializers(o) {
			continue
		}
		before, again := back, kind.WithoutInitializers(o)
		back = func() { before(); again() }
	}
	return back
}

// initialized waits until initializers have finished a new object and returns their result. It gives back the
// request's seats while it waits.
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

// stillWaiting returns the 504 of a create whose initializers did not finish in time. The object exists and
// waits for them.
func (c *call) stillWaiting(latest *object.Object) error {
	return apierrors.NewTimeoutError(fmt.Sprintf(
		"server has timed out waiting for the initialization of %s %s: it is created, and pending are %s",
		c.resource(), latest.Key.Name(), strings.ReplaceAll(latest.Fields[object.InitializersField], ",", ", ")), 0)
}

// notInitialized returns the error of a create whose object was deleted before it was initialized. If an
// initializer rejected the object, this is the result that the initializer reported.
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

// gaveUp reports whether an initializer rejects the object with this write.
func gaveUp(obj kind.Object) bool {
	i := kind.InitializersOf(obj)
	return i != nil && i.Result != nil
}

// giveUp deletes an object that an initializer rejected, regardless of its finalizers, since clients have not
// seen it. The deleted state holds the result for its creator and for watchers: a rejected object is never
// visible as existing.
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
