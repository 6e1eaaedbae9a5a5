// Package log defines the interface between a store and its durable medium: a log makes commits durable and
// delivers the commits of other writers. Only the store calls it; the store orders commits, checks their
// preconditions and assigns their revisions.
//
// A log preserves what is needed to load every live object when it is opened again: its key, its revision and
// its record (object.Object.AppendRecord). It does not depend on kinds.
package log

import (
	"context"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
)

// Change is the effect of a commit on one key.
type Change struct {
	Key object.Key
	// Object is the new state, with the commit's revision; nil for a deletion.
	Object *object.Object
	// Previous is the revision of the state that is replaced; 0 if there is none.
	Previous object.Revision
}

// Commit is a set of changes that become durable atomically.
type Commit struct {
	Revision object.Revision
	Changes  []Change
}

// Loading receives the contents of a log when it is opened. If one of its functions fails, Load stops and
// returns the error.
type Loading struct {
	// Live receives every live object, in any order; key order is the most efficient.
	Live func(*object.Object) error
	// History receives the last changes, after all live objects: in order and without a gap up to the log's
	// revision, each with the wall-clock time of its commit. A log that stores no history never calls it.
	History func(e *object.Event, at time.Time) error
	// Damaged receives each key whose live object cannot be read, with the reason. The log preserves what is
	// left of it.
	Damaged func(key object.Key, err error) error
}

// Log makes commits durable. Its methods are safe for concurrent use, but only one Append runs at a time.
type Log interface {
	// Load passes the contents of the log to into and returns the log's revision. It is called at most once,
	// before Append, Follow and Compact.
	Load(ctx context.Context, into Loading) (object.Revision, error)

	// Instant reports whether Append never blocks; if so, the store calls it while holding its lock.
	Instant() bool

	// Append makes commits durable, in order, and atomically as a group if the medium can: concurrent writers
	// share one call. Their revisions are consecutive and start one above the log's current revision; the
	// commits belong to the caller. An error means that none of them is durable nor ever will be; a log that
	// cannot tell rejects every call from then on. Append returns *BehindError if another writer has
	// committed first.
	Append(ctx context.Context, commits []Commit) error

	// Follow passes the commits of other writers after a revision to take, in order, until ctx ends. It
	// returns nil immediately if there are no other writers, and when ctx ends; any other error ends the
	// store.
	Follow(ctx context.Context, after object.Revision, take func(Commit) error) error

	// Current returns the revision of the last durable commit of any writer; a latest read must include it.
	Current(ctx context.Context) (object.Revision, error)

	// Compact reports that the store no longer serves revisions before this one. It is called often and must
	// not block; the log decides when to act on it.
	Compact(before object.Revision)

	// Close releases the log's resources. Only Current may run concurrently with Close or after it, and may
	// then fail.
	Close() error
}

// BehindError is returned by Append when other writers have appended first. The store applies their commits
// up to Current, then checks its own again.
type BehindError struct {
	Current object.Revision
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("another writer has committed up to revision %d", e.Current)
}
