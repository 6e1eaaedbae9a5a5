package store

import (
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/internal/object"
)

// ErrClosed is returned by calls after Close, and wrapped in the errors that a store returns after its log
// failed.
var ErrClosed = errors.New("the store is closed")

// ErrSlow is returned by Watch.Take when events that the watcher has not received were dropped from the
// history. The watcher may read a new snapshot and watch from its revision.
var ErrSlow = errors.New("the watcher fell behind the history of changes")

// errRetry rejects a proposal whose writer must check its changes again, because the state that it was based on was
// not committed, or other writers have committed first. Callers never see it.
var errRetry = errors.New("the state has changed since")

// ConflictError is returned by Commit when a key does not meet the precondition of a change. Nothing was
// changed.
type ConflictError struct {
	Key object.Key
	// Actual is the durable state of the key, nil if it is absent.
	Actual *object.Object

	expected Expect
}

// IsConflict reports whether err is or wraps a *ConflictError.
func IsConflict(err error) bool {
	_, ok := errors.AsType[*ConflictError](err)
	return ok
}

func (e *ConflictError) Error() string {
	if e.Actual == nil {
		return fmt.Sprintf("%s: expected %s, but it is absent", e.Key, e.expected)
	}
	return fmt.Sprintf("%s: expected %s, but it is at revision %d", e.Key, e.expected, e.Actual.Revision)
}

// CompactedError is returned for a revision before the start of the history.
type CompactedError struct {
	Requested object.Revision
	// Oldest is the first available revision.
	Oldest object.Revision
}

func (e *CompactedError) Error() string {
	return fmt.Sprintf("revision %d is compacted: the oldest available is %d", e.Requested, e.Oldest)
}

// FutureError is returned for a revision that the store has not reached.
type FutureError struct {
	Requested, Current object.Revision
}

func (e *FutureError) Error() string {
	return fmt.Sprintf("revision %d is not reached yet: the current one is %d", e.Requested, e.Current)
}
