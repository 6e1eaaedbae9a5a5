package informer

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/object"
)

// UnreadableError is why a cache has nothing to show of an object that is there: it cannot be decoded into the informer's Go
// type, or transformed. It is not the error of an object that is gone: apierrors.IsNotFound is false, whatever Err is. A
// controller returns it, and comes back to the object later.
type UnreadableError struct {
	Resource schema.GroupResource
	Key      Key
	UID      types.UID
	// Revision is the one that cannot be read.
	Revision object.Revision
	// Err says why, and of what field where that is known: often a *client.DecodeError.
	Err error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s %q is there, but cannot be read: %v; correct the object, or what it is read into, or delete it",
		e.Resource, e.Key, e.Err)
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// Status is an internal error. It makes it an error of k8s.io/apimachinery/pkg/api/errors, so that what Err wraps is not
// taken for it.
func (e *UnreadableError) Status() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Message: e.Error(),
		Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Details: &metav1.StatusDetails{Group: e.Resource.Group, Kind: e.Resource.Resource, Name: e.Key.Name, UID: e.UID},
	}
}

// passed is the revision of the last state when that cannot be read; else 0.
func (p *pending[T]) passed() object.Revision {
	if p.unread == nil {
		return 0
	}
	return p.unread.revision
}

// noteUnread keeps a trace of what is there and cannot be read, where no older state of it stands, and drops that of what
// is there no more, or can be read again. The lock is held.
func (x *Indexer[T]) noteUnread(p *pending[T], cached bool) {
	was := x.unread[p.key]
	switch {
	case cached:
		delete(x.unread, p.key)
	case p.unread != nil:
		if x.unread == nil {
			x.unread = map[Key]*state[T]{}
		}
		_, err := p.unread.read()
		s := p.unread.trace(err)
		x.unread[s.key] = s
	case was != nil && !p.isBefore(was):
		delete(x.unread, p.key)
	}
}

// isBefore says whether all that happened is that an older object was deleted.
func (p *pending[T]) isBefore(s *state[T]) bool {
	for _, d := range p.deltas {
		if d.Type != Deleted || d.unknown || !d.state.older(s) {
			return false
		}
	}
	return true
}

// forgetUnread drops the traces of what is there no more.
func (x *Indexer[T]) forgetUnread(gone func(key Key) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key := range x.unread {
		if gone(key) {
			delete(x.unread, key)
		}
	}
}
