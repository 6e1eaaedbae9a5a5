package informer

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"

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

// isUnreadable says whether a state was to be decoded and could not be. A lazy informer finds that out when it is read.
func (i *Informer[T]) isUnreadable(s *state[T]) bool { return s.late != nil && !i.reader.lazy }

// misread takes in that the newest state of an object cannot be read. The last one that could be stands until the object is
// deleted: it does not look as if it were gone. Where there is none, the cache knows that it cannot be read.
func (i *Informer[T]) misread(d delta[T], cached *state[T]) {
	known := cmp.Or(cached, i.indexer.unread[d.state.key])
	switch {
	case known != nil && isWatched(d.Type) && d.state.older(known): // it comes late
		return
	case cached != nil && cached.uid() == d.state.uid():
		i.progress.pass(cached.key, d.state.revision)
		return
	case cached != nil: // another object has its name, so that its deletion was not seen
		i.remove(cached, cached, true)
	}
	i.replaceUnread(d.state)
	i.indexer.noteUnread(d.state)
}

// replaceUnread drops the trace of what could not be read, now that there is a newer state. Who is thorough is told when that
// is another object's.
func (i *Informer[T]) replaceUnread(s *state[T]) {
	known := i.indexer.unread[s.key]
	if known == nil {
		return
	}
	delete(i.indexer.unread, s.key)
	if known.uid() != s.uid() {
		i.tell(notice[T]{kind: noticeVanish, old: known})
	}
}

// noteUnread keeps a trace of what is there and cannot be read. The lock is held.
func (x *Indexer[T]) noteUnread(s *state[T]) {
	if x.unread == nil {
		x.unread = map[Key]*state[T]{}
	}
	_, err := s.read()
	s = s.trace(err)
	x.unread[s.key] = s
}

// unreadStates are the traces of what is there and cannot be read.
func (x *Indexer[T]) unreadStates() []*state[T] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Collect(maps.Values(x.unread))
}
