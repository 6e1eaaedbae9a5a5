package informer

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/object"
)

// Reached waits until the cache shows an object at a revision or a later one, or that it has been deleted since, so that
// whoever has written the object does not act on an older state of it: pass the revision that the server answered the
// write with. Revision 0, which nobody knows, is reached. It returns an error when ctx ends before.
//
// A revision that cannot be decoded counts as reached, since no waiting would show it: see Unreadable. An object that is not
// in the informer's scope is never shown; that it was passed over is known when the cache has come that far, by a later
// change of another object or by a bookmark.
func (i *Informer[T]) Reached(ctx context.Context, key Key, revision object.Revision) error {
	for {
		reached, changed := i.shows(key, revision)
		if reached {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the cache of %s does not show %s at revision %d yet: %w", i.resource.Resource, key, revision, ctx.Err())
		}
	}
}

// shows says whether a revision is reached; if not, the channel is closed when it may be.
func (i *Informer[T]) shows(key Key, revision object.Revision) (bool, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := i.progress.at
	if s := i.indexer.state(key); s != nil {
		at = max(s.revision, i.progress.passed[key])
	}
	if at >= revision {
		return true, nil
	}
	return false, i.progress.next()
}

// Revision is up to where the cache has followed the server: the revision of the last list, event or bookmark.
func (i *Informer[T]) Revision() object.Revision {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.progress.at
}

// progress is how far a cache has come, for those who wait for it. It is under the informer's lock.
type progress struct {
	at   object.Revision
	wake chan struct{} // nil while nobody waits
	// passed are the revisions of cached objects that could not be read, so that older ones stand.
	passed map[Key]object.Revision
}

// pass notes that the last state of a cached object cannot be read.
func (p *progress) pass(key Key, revision object.Revision) {
	if p.passed == nil {
		p.passed = map[Key]object.Revision{}
	}
	p.passed[key] = revision
}

// next is closed at the next change.
func (p *progress) next() <-chan struct{} {
	if p.wake == nil {
		p.wake = make(chan struct{})
	}
	return p.wake
}

// made tells of changes up to a revision.
func (p *progress) made(upTo object.Revision) {
	p.at = upTo
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}
