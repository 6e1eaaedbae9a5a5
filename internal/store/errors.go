package store

import (
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/object"
)

// ErrClosed is returned by everything that is asked of a store after Close, and wrapped in what a store returns after its
// log failed it.
var ErrClosed = errors.New("the store is closed")

// ErrSlow is returned by Watch.Take when events that the watcher has not taken were dropped from the history. The
// watcher may read a new snapshot and watch from there.
var ErrSlow = errors.New("the watcher fell behind the history of changes")

// errAgain settles a proposal that was built on state which never came to be: its writer judges it again.
var errAgain = errors.New("the state has changed since")

// ConflictError is returned by Commit when a key is not as a change expects. Nothing was changed.
type ConflictError struct {
	Key object.Key
	// Actual is the durable state that was found, nil when the key is absent.
	Actual *object.Object

	expected Expect
}

func (e *ConflictError) Error() string {
	if e.Actual == nil {
		return fmt.Sprintf("%s: expected %s, but it is absent", e.Key, e.expected)
	}
	return fmt.Sprintf("%s: expected %s, but it is at revision %d", e.Key, e.expected, e.Actual.Revision)
}

// CompactedError is returned for a revision that the history no longer reaches.
type CompactedError struct {
	Requested object.Revision
	// Oldest is the first revision that can be asked for.
	Oldest object.Revision
}

func (e *CompactedError) Error() string {
	return fmt.Sprintf("revision %d is compacted: the oldest kept is %d", e.Requested, e.Oldest)
}

// FutureError is returned for a revision that the store has not reached.
type FutureError struct {
	Requested, Current object.Revision
}

func (e *FutureError) Error() string {
	return fmt.Sprintf("revision %d is not reached yet: the current one is %d", e.Requested, e.Current)
}
