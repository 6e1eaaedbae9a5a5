package informer

import (
	"context"
	"fmt"
	"sync"

	"github.com/bowline-dev/bowline/object"
)

// Reached waits until the cache shows an object at a revision or a later one, or its deletion, so that whoever has written
// the object does not act on an older state of it: pass the revision that the server answered the write with. It returns an
// error when ctx ends before.
func (i *Informer[T]) Reached(ctx context.Context, key Key, revision object.Revision) error {
	for {
		changed := i.progress.next()
		if obj, known := i.indexer.Get(key); known {
			if at, err := object.ParseRevision(obj.GetResourceVersion()); err == nil && at >= revision {
				return nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the cache of %s does not show %s at revision %d yet: %w", i.resource.Resource, key, revision, ctx.Err())
		}
	}
}

// progress wakes those who wait for the cache to change.
type progress struct {
	mu   sync.Mutex
	wake chan struct{} // nil while nobody waits
}

// next is closed at the next change.
func (p *progress) next() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wake == nil {
		p.wake = make(chan struct{})
	}
	return p.wake
}

// made tells of a change.
func (p *progress) made() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}
