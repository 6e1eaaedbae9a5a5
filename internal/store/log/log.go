// Package log is what a store needs from below: a log decides how commits become durable and who else makes them. The
// store alone calls it; it orders commits, checks what they expect and gives them their revisions.
//
// A log keeps what it must to give every live object back when it is opened again: its key, its revision and its record
// (object.Object.AppendRecord). It knows no kind.
package log

import (
	"context"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/object"
)

// Change is what a commit does to one key.
type Change struct {
	Key object.Key
	// Object is the new state, stamped with the commit's revision; nil deletes.
	Object *object.Object
	// Previous is the revision of the state that it replaces; 0 when there is none.
	Previous object.Revision
}

// Commit is a set of changes that become durable together or not at all.
type Commit struct {
	Revision object.Revision
	Changes  []Change
}

// Loading takes what a log has when it is opened. An error of its functions ends the loading, and is what Load returns.
type Loading struct {
	// Live takes every live object, in any order but best in that of their keys.
	Live func(*object.Object) error
	// Past takes the last changes, once everything live was taken: in order, without a gap up to the log's revision, each
	// with when it was committed by the clock of then. A log that keeps no past takes nothing.
	Past func(e *object.Event, at time.Time) error
	// Damaged takes the keys whose live object cannot be read any more, and why. The log keeps what is left of it.
	Damaged func(key object.Key, err error) error
}

// Log makes commits durable. Its methods are safe for concurrent use, but only one Append is under way at a time.
type Log interface {
	// Load hands on what the log has, and returns the revision that it stands at. It is called once, before everything else.
	Load(ctx context.Context, into Loading) (object.Revision, error)

	// Instant says that Append never waits, so that the store may call it with its lock held.
	Instant() bool

	// Append makes commits durable, in order and all together where the medium can: writers that came at the same time
	// share one call. Their revisions follow each other and begin one above the log's current one; the commits belong to
	// the caller. An error means that none of them is durable nor ever will be: a log that cannot know refuses everything
	// from then on. *BehindError when another writer was first.
	Append(ctx context.Context, commits []Commit) error

	// Follow hands on the commits after a revision that others than this log's user make, in order, until ctx ends. It
	// returns nil at once when there are no others, and when ctx ended; any other error ends the store.
	Follow(ctx context.Context, after object.Revision, take func(Commit) error) error

	// Current is the revision of the last durable commit, whoever made it: what a latest read must have seen.
	Current(ctx context.Context) (object.Revision, error)

	// Compact says that the store no longer answers for revisions before this one. It is called often and must not wait;
	// a log acts on it when that is worth its while.
	Compact(before object.Revision)

	// Close releases what the log holds. Current alone may still be called beside it and after it, and may fail then; no
	// other call is under way, and none follows.
	Close() error
}

// BehindError is returned by Append when others have appended first. The store takes in their commits up to Current,
// then judges its own again.
type BehindError struct {
	Current object.Revision
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("another writer has committed up to revision %d", e.Current)
}
