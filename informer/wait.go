package informer

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/internal/object"
)

// WaitForRevision waits until the cache has an object at a revision or a later one, or has processed its deletion
// since. Pass the revision of a write's response to avoid acting on an older state. Revision 0, which means unknown,
// counts as reached. WaitForRevision returns an error if ctx ends first.
//
// A state that cannot be decoded counts as reached, since the cache will never have it; see Unreadable. An object
// outside the informer's scope is never cached; its revision counts as reached when the cache has processed all changes
// up to it.
func (i *Informer[T]) WaitForRevision(ctx context.Context, key Key, revision object.Revision) error {
	for {
		reached, changed := i.hasReached(key, revision)
		if reached {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the cache of %s does not have %s at revision %d yet: %w", i.resource.Resource, key,
				revision, ctx.Err())
		}
	}
}

// hasReached reports whether the cache has an object at a revision or a later one. If not, the channel is closed at the
// next change.
func (i *Informer[T]) hasReached(key Key, revision object.Revision) (bool, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := i.updater.progress.at
	if s := i.indexer.state(key); s != nil {
		at = max(s.revision, i.updater.progress.skipped[key])
	}
	if at >= revision {
		return true, nil
	}
	return false, i.updater.progress.next()
}

// Revision returns the revision up to which the cache has processed all changes: that of the last list, event or
// bookmark.
func (i *Informer[T]) Revision() object.Revision {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.updater.progress.at
}

// progress tracks the revision that a cache has reached. The informer's lock guards it.
type progress struct {
	at   object.Revision
	wake chan struct{} // nil if nothing waits
	// skipped holds the revision of the newest state of each cached object for which that cannot be decoded.
	skipped map[Key]object.Revision
}

// skip records that the newest state of a cached object cannot be decoded.
func (p *progress) skip(key Key, revision object.Revision) {
	if p.skipped == nil {
		p.skipped = map[Key]object.Revision{}
	}
	p.skipped[key] = revision
}

// next returns a channel that is closed at the next change.
func (p *progress) next() <-chan struct{} {
	if p.wake == nil {
		p.wake = make(chan struct{})
	}
	return p.wake
}

// advance records that all changes up to a revision were applied.
func (p *progress) advance(upTo object.Revision) {
	p.at = upTo
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}
