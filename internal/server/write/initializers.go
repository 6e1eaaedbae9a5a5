package write

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// tidyInitializers removes the initializers field unless one is pending or has failed. A write of a subresource, sub,
// does not change it. old is nil for a create.
func tidyInitializers(obj, old kind.Object, sub string) {
	if sub != "" {
		if kind.HasInitializers(obj) || kind.HasInitializers(old) {
			kind.SetInitializers(obj, kind.InitializersOf(old))
		}
		return
	}
	if !kind.HasInitializers(obj) {
		return
	}
	is := kind.InitializersOf(obj)
	// Clearing a list of several initializers removes more than the first: admission rejects that.
	if is == nil || is.IsEmpty() && (old == nil || len(kind.InitializersOf(old).Names()) <= 1) {
		kind.SetInitializers(obj, nil)
	}
}

// awaitInitializers waits until initializers have finished a new object, fresh, which then is their result. It gives
// back the request's seats while it waits.
func (op *operation) awaitInitializers() error {
	const (
		timeout = 30 * time.Second
		batch   = 256 // events
	)
	req := op.req
	changes, err := op.Store.Watch(op.fresh.Key, op.fresh.Revision)
	if err != nil {
		return err
	}
	defer changes.Stop()
	req.Seats.Leave()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		changed := changes.Changed()
		events, err := changes.Take(batch)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Deleted {
				return op.notInitialized(e.Object)
			}
			if op.fresh = e.Object; !op.fresh.Uninitialized() {
				return nil
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-changed:
			continue
		case <-timer.C:
		case <-req.Context().Done():
			if err := req.Context().Err(); !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
		case <-op.Tasks.Context().Done():
			return store.ErrClosed
		}
		return apierrors.NewTimeoutError(fmt.Sprintf(
			"server has timed out waiting for the initialization of %s %s: it was created; its pending initializers are %s",
			req.Resource(), op.fresh.Key.Name(),
			strings.ReplaceAll(op.fresh.Fields[object.InitializersField], ",", ", ")), 0)
	}
}

// notInitialized returns the error of a create whose object was deleted before it was initialized. If an initializer
// rejected the object, this is the result that the initializer reported.
func (op *operation) notInitialized(last *object.Object) error {
	obj, err := stored.Decode(op.req.Kind, last)
	if err != nil {
		return err
	}
	if i := kind.InitializersOf(obj); i != nil && i.Result != nil {
		result := *i.Result
		if result.Code < http.StatusBadRequest || result.Code > 599 {
			result.Code = http.StatusInternalServerError
		}
		return &apierrors.StatusError{ErrStatus: result}
	}
	return apierrors.NewInternalError(errors.New("object deleted while waiting for creation"))
}

// rejectUninitialized deletes current, whose new state has the result of an initializer that rejects it, regardless of
// its finalizers, since clients have not seen it. The deleted state has the result for the object's creator and for
// watchers: a rejected object is never visible as existing.
func (op *operation) rejectUninitialized() error {
	last, err := stored.Read(op.req.Kind, op.current)
	if err != nil {
		return err
	}
	initializers := *kind.InitializersOf(last)
	initializers.Result = kind.InitializersOf(op.obj).Result
	kind.SetInitializers(last, &initializers)
	op.req.Spans.At(stage.Encode)
	var change store.Change
	if change.Last, err = stored.Encode(op.req.Kind, last, op.current.Form()); err != nil {
		return err
	}
	op.req.Spans.At(stage.Commit)
	return op.finish(change)
}
