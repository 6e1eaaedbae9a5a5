package store

import (
	"context"
	"fmt"
	"maps"

	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// Fork begins a second store with the state that this one has now, with everything that was committed before the call, by
// whomever; ctx bounds only the wait for that. The fork lives in memory, whatever this store's log is, and is independent of
// it: each has its own commits, watches and end.
//
// Nothing is copied, whatever the size: the two share the objects, which are immutable, and the nodes of the tree, of which
// each copies those that it changes. The fork has no history: its revisions begin an epoch above those of this store
// (object.NextEpoch), and all before are compacted.
func (s *Store) Fork(ctx context.Context) (*Store, error) {
	if _, err := s.latest(ctx); err != nil {
		return nil, fmt.Errorf("forking the store: %w", err)
	}
	from := s.state
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
	f.state.objects, f.state.damaged = from.objects.copy(), maps.Clone(from.damaged)
	f.state.current, f.tip, f.state.history.oldest = revision, revision, revision
	f.begin()
	return f, nil
}
