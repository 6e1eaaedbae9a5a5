package write

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/store"
)

// deleters is the number of concurrent deletes of a collection. Their commits share a sync of the disk. They
// run in the seats of the one request.
const deleters = 16

// DeleteCollection deletes each selected object like a single delete. The result has their last states.
func (w *Writer) DeleteCollection(req *request.Request) (*request.Result, error) {
	options, err := deleteOptions(req)
	if err != nil {
		return nil, err
	}
	if ignoresUnreadable(options) {
		return nil, request.InvalidOptions("DeleteOptions",
			field.ErrorList{field.Invalid(field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential"),
				true, "is not allowed with DELETECOLLECTION, try again after removing the option")})
	}
	page, err := w.Select(req)
	if err != nil {
		return nil, err
	}
	req.Spans.At(stage.Commit) // one span for all, to bound the size of the trace
	if err := w.removeAll(req, page.Items, options); err != nil {
		return nil, err
	}
	return &request.Result{Page: page}, nil
}

// removeAll deletes objects concurrently, in no order. After the first error it starts no further deletes and
// waits for those in progress, so that the work after their commits is done.
func (w *Writer) removeAll(req *request.Request, items []*object.Object, options *metav1.DeleteOptions) error {
	var group errgroup.Group
	requests := make([]request.Request, min(deleters, len(items)))
	var next atomic.Int64
	var failed atomic.Bool
	for i := range requests {
		one := &requests[i]
		*one = *req
		one.Spans, one.Warnings = nil, nil
		group.Go(func() error {
			op := newRemoval(w, one, options)
			for n := next.Add(1); n <= int64(len(items)) && !failed.Load(); n = next.Add(1) {
				err := context.Cause(req.Context())
				if err == nil {
					err = op.removeListed(items[n-1])
				}
				if err != nil {
					failed.Store(true)
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	for i := range requests {
		req.Warnings = append(req.Warnings, requests[i].Warnings...)
	}
	return err
}

// errOtherObject reports that the name belongs to a newer object.
var errOtherObject = errors.New("it is another object")

// removeListed deletes an object of a collection. It returns nil if the object was already deleted, even if a
// newer object has its name. It recovers from a panic: its goroutine has no other handler.
func (op *removal) removeListed(listed *object.Object) (err error) {
	defer func() {
		if p := recover(); p != nil {
			op.Log.Error("deleting an object of a collection panicked", "object", listed.Key, "panic", p, "stack",
				string(debug.Stack()))
			err = fmt.Errorf("deleting %s panicked in the server: %v", listed.Key, p)
		}
	}()
	_, err = op.remove(listed.Key, func(obj kind.Object) ([]store.Change, error) {
		if obj.GetUID() != listed.UID {
			return nil, errOtherObject
		}
		op.old = obj
		return nil, op.admitOnly(nil)
	})
	if apierrors.IsNotFound(err) || errors.Is(err, errOtherObject) {
		return nil
	}
	return err
}
