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

// UnreadableError reports that an object exists but cannot be decoded into the informer's Go type, or that Transform
// returned an error. It never means that the object is gone: apierrors.IsNotFound returns false, whatever Err is. A
// reconciler should return it and be retried later.
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
	return fmt.Sprintf("%s %q exists but cannot be decoded: %v; correct the object or the Go type, or delete the object",
		e.Resource, e.Key, e.Err)
}

// Unwrap returns Err.
func (e *UnreadableError) Unwrap() error { return e.Err }

// Status returns an internal error. It implements APIStatus of k8s.io/apimachinery/pkg/api/errors, so that the
// functions of that package do not look at the wrapped error.
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
func (u *updater[T]) isUnreadable(s *state[T]) bool { return s.encoded != nil && !u.lazy }

// applyUnreadable applies a delta whose state cannot be decoded. The last decoded state remains cached until the
// object is deleted. If there is none, the cache records a trace: the object's name, UID and revision.
func (u *updater[T]) applyUnreadable(d delta[T], cached *state[T]) {
	known := cmp.Or(cached, u.indexer.unreadable[d.state.key])
	switch {
	case known != nil && isWatched(d.Type) && d.state.older(known): // out of order
		return
	case cached != nil && cached.uid() == d.state.uid():
		u.progress.skip(cached.key, d.state.revision)
		return
	case cached != nil: // another object has its name, so the deletion of the cached one was not observed
		u.remove(cached, cached, true)
	}
	u.removeUnreadable(d.state)
	u.indexer.putUnreadable(d.state)
}

// removeUnreadable removes the trace of the key of a new state. If that is the state of another object, every
// VanishHandler is notified that the first one is gone.
func (u *updater[T]) removeUnreadable(s *state[T]) {
	known := u.indexer.unreadable[s.key]
	if known == nil {
		return
	}
	delete(u.indexer.unreadable, s.key)
	if known.uid() != s.uid() {
		u.notify(notice[T]{kind: noticeVanish, old: known})
	}
}

// putUnreadable records a trace of an object that cannot be decoded. The caller holds the lock.
func (x *Indexer[T]) putUnreadable(s *state[T]) {
	if x.unreadable == nil {
		x.unreadable = map[Key]*state[T]{}
	}
	_, err := s.read()
	s = s.trace(err)
	x.unreadable[s.key] = s
}

// unreadableStates returns the traces of objects that cannot be decoded.
func (x *Indexer[T]) unreadableStates() []*state[T] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Collect(maps.Values(x.unreadable))
}
