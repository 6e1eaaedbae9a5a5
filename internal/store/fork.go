package store

import (
	"context"
	"fmt"
	"maps"

	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// Fork returns a new store with the current state of this one, including everything that any writer committed
// before the call; ctx bounds only the wait for that. The fork is in memory, whatever this store's log is,
// and independent: each store has its own commits, watches and lifetime.
//
// Nothing is copied, whatever the size: the stores share the immutable objects, and the tree's nodes
// copy-on-write. The fork has no history: its revisions start one epoch above this store's
// (object.NextEpoch), and all earlier ones are compacted.
func (s *Store) Fork(ctx context.Context) (*Store, error) {
	if _, err := s.latest(ctx); err != nil {
		return nil, fmt.Errorf("forking the store: %w", err)
	}
	from := s.state
	s.commits.mu.Lock() // nothing is published meanwhile
	defer s.commits.mu.Unlock()
	from.lock.Lock()
	defer from.lock.Unlock()
	if from.closed != nil {
		return nil, fmt.Errorf("forking the store: %w", from.closed)
	}
	l := memory.After(from.current)
	revision, err := l.Current(ctx)
	if err != nil {
		return nil, fmt.Errorf("forking the store: %w", err)
	}
	f := newStore(l, Options{HistoryAge: from.history.age, HistoryBytes: from.history.budget})
	f.commits.usage = s.commits.usage.fork()
	f.state.objects, f.state.damaged = from.objects.copy(), maps.Clone(from.damaged)
	f.state.current, f.commits.tip, f.state.history.oldest = revision, revision, revision
	f.commits.start()
	return f, nil
}
