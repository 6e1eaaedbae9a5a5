// Package store holds the state of a control plane: every live object in an ordered, copy-on-write tree in
// memory, with a bounded history of changes. It commits changes atomically, provides snapshots of the present
// and the recent past at no cost, and notifies watchers of changes. A log (package internal/store/log) makes
// commits durable.
//
// The store handles keys, revisions and immutable objects. Interpreting objects is left to its callers, mainly
// the server.
//
// Commit checks the preconditions of its changes against the newest state, whether durable or pending;
// assigns the next revision and stamps it into the objects; appends them to the log, together with the
// commits of concurrent writers; and when they are durable, publishes them: the tree, the history and the
// current revision advance in one step, and the watchers concerned are woken. No reader observes what is not
// durable.
//
// Get searches the tree. Snapshot takes a root of the tree that never changes: later commits copy the nodes
// on their path. A snapshot at exactly an older revision combines the newest root with an index of what was
// replaced since. A Watch is a position in the history.
//
// A store starts goroutines to append to a log that is not instant and to follow other writers; Close stops them. It
// works in a testing/synctest bubble.
package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// Options configure a store. The zero value is usable.
type Options struct {
	// HistoryAge is how long changes are retained; 0 means 5 minutes.
	HistoryAge time.Duration
	// HistoryBytes bounds the memory that the history retains beyond live objects; 0 means 256 MiB.
	HistoryBytes int
	// AcceptDamage opens the store even if its log has unreadable objects: see DamagedError and
	// Store.Damaged.
	AcceptDamage bool
	// Quota bounds the bytes of live objects. The zero value sets no bound.
	Quota Quota
}

// Store holds the objects of a control plane. It is safe for concurrent use.
type Store struct {
	log   log.Log
	state *state

	commits committer
	closing sync.Once
}

// New loads the state from a log; ctx bounds only the loading. The store owns the log and closes it, even if loading
// fails.
func New(ctx context.Context, l log.Log, options Options) (*Store, error) {
	if options.HistoryAge == 0 {
		options.HistoryAge = 5 * time.Minute
	}
	if options.HistoryBytes == 0 {
		options.HistoryBytes = 256 << 20
	}
	s := newStore(l, options)
	if err := s.load(ctx, options); err != nil {
		return nil, errors.Join(fmt.Errorf("loading the store: %w", err), l.Close())
	}
	s.commits.start()
	return s, nil
}

func newStore(l log.Log, options Options) *Store {
	st := newState(options)
	return &Store{log: l, state: st, commits: newCommitter(l, st, options.Quota)}
}

func (s *Store) load(ctx context.Context, options Options) error {
	st := s.state
	newest := object.Revision(0)
	revision, err := s.log.Load(ctx, log.Loading{
		Live: func(o *object.Object) error {
			newest = max(newest, o.Revision)
			st.objects.load(o)
			s.commits.usage.durable.count(o.Key.Namespace(), int64(o.Size()))
			return nil
		},
		History: st.history.load,
		Damaged: st.damage,
	})
	if err != nil {
		return err
	}
	if newest > revision {
		return fmt.Errorf("the log is at revision %d, but has an object of revision %d", revision, newest)
	}
	if err := s.checkDamage(options); err != nil {
		return err
	}
	st.current, s.commits.tip = revision, revision
	return st.history.finishLoad(revision)
}

// Get returns the published object at a key, nil if there is none.
func (s *Store) Get(key object.Key) *object.Object {
	defer s.state.lock.read().RUnlock()
	return s.state.objects.get(key)
}

// Few returns the objects of a prefix in the latest state, in key order, if there are at most limit; otherwise found is
// false. Unlike after a Snapshot, the next commit copies no part of the state. Few may wait for a shared log.
func (s *Store) Few(ctx context.Context, prefix object.Key, limit int) (few []*object.Object, found bool, err error) {
	current, err := s.log.Current(ctx)
	if err != nil {
		return nil, false, err
	}
	if err := s.state.await(ctx, current); err != nil {
		return nil, false, err
	}
	few, found = s.state.few(prefix, limit)
	return few, found, nil
}

// Current returns the revision of the published state.
func (s *Store) Current() object.Revision { return s.state.published() }

// Oldest returns the first revision available to Snapshot and Watch.
func (s *Store) Oldest() object.Revision {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	s.state.history.trim(time.Since(s.state.start))
	return s.state.history.oldest
}

// Err returns why commits are rejected, ErrClosed or a failure of the log; nil while the store is open.
func (s *Store) Err() error { return s.commits.err() }

// Close ends watches and commits in progress and closes the log. Existing snapshots remain valid.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.commits.close()
		s.state.close(ErrClosed)
		err = s.log.Close()
	})
	return err
}
