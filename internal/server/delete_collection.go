package server

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
	"github.com/bowline-dev/bowline/internal/store"
)

// deleters is the number of concurrent deletes of a collection. Their commits share a sync of the disk. They
// run in the seats of the one request.
const deleters = 16

// deleteCollection deletes each selected object like a single delete, and answers with their last states.
func (s *Server) deleteCollection(c *call) error {
	if err := c.negotiate(asTable, asPartialList); err != nil {
		return err
	}
	options, err := c.deleteOptions()
	if err != nil {
		return err
	}
	if ignoresUnreadable(options) {
		return invalidOptions("DeleteOptions",
			field.ErrorList{field.Invalid(field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential"),
				true, "is not allowed with DELETECOLLECTION, try again after removing the option")})
	}
	p, err := s.page(c)
	if err != nil {
		return err
	}
	c.spans.at(stageCommit) // one span for all, to bound the size of the trace
	if err := s.removeAll(c, p.items, options); err != nil {
		return err
	}
	c.spans.at(stageAnswer)
	return s.answerPage(c, p)
}

// removeAll deletes objects concurrently, in no order. After the first error it starts no further deletes and
// waits for those in progress, so that the work after their commits is done.
func (s *Server) removeAll(c *call, items []*object.Object, options *metav1.DeleteOptions) error {
	var group errgroup.Group
	calls := make([]call, min(deleters, len(items)))
	var taken atomic.Int64
	var failed atomic.Bool
	for i := range calls {
		one := &calls[i]
		*one = *c
		one.spans, one.warnings = nil, nil
		group.Go(func() error {
			for n := taken.Add(1); n <= int64(len(items)) && !failed.Load(); n = taken.Add(1) {
				err := context.Cause(c.context())
				if err == nil {
					err = s.removeOne(one, items[n-1], options)
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
	for _, one := range calls {
		c.warnings = append(c.warnings, one.warnings...)
	}
	return err
}

// errAnother reports that the name belongs to a newer object.
var errAnother = errors.New("it is another object")

// removeOne deletes an object of a collection. It returns nil if the object was already deleted, even if a
// newer object has its name. It recovers from a panic: its goroutine has no other handler.
func (s *Server) removeOne(c *call, listed *object.Object, options *metav1.DeleteOptions) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("deleting an object of a collection panicked", "object", listed.Key, "panic", p, "stack",
				string(debug.Stack()))
			err = fmt.Errorf("deleting %s panicked in the server: %v", listed.Key, p)
		}
	}()
	_, err = s.removeAsking(c, listed.Key, options, func(obj kind.Object) ([]store.Change, error) {
		if obj.GetUID() != listed.UID {
			return nil, errAnother
		}
		return nil, s.admitDelete(c, options, obj)
	})
	if apierrors.IsNotFound(err) || errors.Is(err, errAnother) {
		return nil
	}
	return err
}
