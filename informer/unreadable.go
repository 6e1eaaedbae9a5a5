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

	"github.com/bowline-dev/bowline/internal/object"
)

// UnreadableError reports that an object exists but cannot be decoded into the informer's Go type, or
// transformed. It never means that the object is gone: apierrors.IsNotFound returns false, whatever Err is. A
// controller should return it, to be retried later.
type UnreadableError struct {
	// Resource, Key and UID identify the object.
	Resource schema.GroupResource
	Key      Key
	UID      types.UID
	// Revision is the revision that cannot be decoded.
	Revision object.Revision
	// Err is the cause, which names the field if it is a *client.DecodeError.
	Err error
}

// Error names the object, the cause and what to do.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s %q is there, but cannot be read: %v; correct the object, or what it is read into, or delete it",
		e.Resource, e.Key, e.Err)
}

// Unwrap returns Err.
func (e *UnreadableError) Unwrap() error { return e.Err }

// Status makes it an internal error for k8s.io/apimachinery/pkg/api/errors, so that its status takes
// precedence over that of the wrapped error.
func (e *UnreadableError) Status() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Message: e.Error(),
		Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Details: &metav1.StatusDetails{Group: e.Resource.Group, Kind: e.Resource.Resource, Name: e.Key.Name,
			UID: e.UID},
	}
}

// isUnreadable reports whether decoding a state has failed. A lazy informer does not know before the state is
// read.
func (u *updater[T]) isUnreadable(s *state[T]) bool { return s.late != nil && !u.lazy }

// misread handles a newest state that cannot be decoded. The last decoded state remains cached until the
// object is deleted. If there is none, the cache records a trace.
func (u *updater[T]) misread(d delta[T], cached *state[T]) {
	known := cmp.Or(cached, u.indexer.unread[d.state.key])
	switch {
	case known != nil && isWatched(d.Type) && d.state.older(known): // it comes late
		return
	case cached != nil && cached.uid() == d.state.uid():
		u.progress.pass(cached.key, d.state.revision)
		return
	case cached != nil: // another object has its name, so that its deletion was not seen
		u.remove(cached, cached, true)
	}
	u.replaceUnread(d.state)
	u.indexer.noteUnread(d.state)
}

// replaceUnread removes the trace of an unreadable state. If the new state is another object's, every
// VanishHandler is notified.
func (u *updater[T]) replaceUnread(s *state[T]) {
	known := u.indexer.unread[s.key]
	if known == nil {
		return
	}
	delete(u.indexer.unread, s.key)
	if known.uid() != s.uid() {
		u.notify(notice[T]{kind: noticeVanish, old: known})
	}
}

// noteUnread records a trace of an object that cannot be decoded. The caller holds the lock.
func (x *Indexer[T]) noteUnread(s *state[T]) {
	if x.unread == nil {
		x.unread = map[Key]*state[T]{}
	}
	_, err := s.read()
	s = s.trace(err)
	x.unread[s.key] = s
}

// unreadStates returns the traces of objects that cannot be decoded.
func (x *Indexer[T]) unreadStates() []*state[T] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Collect(maps.Values(x.unread))
}
