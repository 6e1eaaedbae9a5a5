// Package store keeps the state of a control plane: every live object in an ordered, copy-on-write tree in memory, with
// a bounded history of changes. It commits changes atomically, gives out free snapshots of the present and of the recent
// past, and lets watchers follow along. What makes commits durable is a log (package store/log).
//
// The store knows keys, revisions and immutable objects; what an object means is the server's business, which is its
// only caller. One write and one read:
//
// Commit judges what its changes expect against the newest state, durable or about to be; gives them the next revision
// and stamps it into the objects; hands them to the log, together with those of writers that came meanwhile; and when
// the log has them, publishes: one step in which the tree, the history and the current revision move on, and after which
// the watchers concerned are woken. No reader sees what is not durable.
//
// Get looks into the tree. Snapshot takes a root of it, which nothing changes from then on: the next commits copy the
// nodes on their way. Exactly an older revision is the newest root beside an index of what was replaced since. Watch is
// a cursor in the history.
//
// A store makes no goroutine of its own but those that wait for a log which is not instant, and Close stops them. It can
// live in a bubble of testing/synctest.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/object"
)

// Options bound the history. The zero value works.
type Options struct {
	// HistoryAge is how long changes are kept; 5 minutes when 0.
	HistoryAge time.Duration
	// HistoryBytes is how much changes may keep alive that is live no more; 256 MiB when 0.
	HistoryBytes int
	// AcceptDamage lets a store begin although its log has objects that cannot be read: see DamagedError and Store.Damaged.
	AcceptDamage bool
}

// Store is safe for concurrent use.
type Store struct {
	log   log.Log
	state *state

	// mu orders commits. It is never held while anything waits.
	mu sync.Mutex
	// closed is why no more commits are let in; nil while the store lives.
	closed error
	// instant is the log's: every commit is durable before mu is released, and nothing below is used.
	instant bool
	// tip is the revision of the last proposal.
	tip object.Revision
	// staged is what undecided proposals make of keys, the last one for each.
	staged map[object.Key]staged
	// proposals are those that wait for the log; draining says that a goroutine hands them to it.
	proposals []*proposal
	draining  bool
	gathering gathering

	closing sync.Once
	// work counts the goroutines, and stop ends what they wait for.
	work sync.WaitGroup
	ctx  context.Context
	stop context.CancelFunc
}

// New loads the state that a log has; ctx bounds only that. The store owns the log and closes it, even if it cannot be
// loaded.
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
	s.begin()
	return s, nil
}

func newStore(l log.Log, options Options) *Store {
	return &Store{log: l, state: newState(options), instant: l.Instant(), staged: map[object.Key]staged{}}
}

// begin lets the store live, once it has its state.
func (s *Store) begin() {
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.work.Go(s.follow)
}

func (s *Store) load(ctx context.Context, options Options) error {
	st := s.state
	newest := object.Revision(0)
	revision, err := s.log.Load(ctx, log.Loading{
		Live: func(o *object.Object) error {
			newest = max(newest, o.Revision)
			st.objects.load(o)
			return nil
		},
		Past:    st.history.recall,
		Damaged: st.damage,
	})
	if err != nil {
		return err
	}
	if newest > revision {
		return fmt.Errorf("the log is at revision %d, but has an object of revision %d", revision, newest)
	}
	if err := s.assess(options); err != nil {
		return err
	}
	st.current, s.tip = revision, revision
	return st.history.resume(revision)
}

// Get is the published object at a key, nil when there is none.
func (s *Store) Get(key object.Key) *object.Object {
	defer s.state.lock.read().RUnlock()
	return s.state.objects.get(key)
}

// Current is the revision of the published state.
func (s *Store) Current() object.Revision {
	defer s.state.lock.read().RUnlock()
	return s.state.current
}

// Oldest is the first revision that Snapshot and Watch still reach.
func (s *Store) Oldest() object.Revision {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	s.state.history.tidy(time.Since(s.state.start))
	return s.state.history.oldest
}

// Err is why nothing more can be committed, ErrClosed or that the log has failed; nil while the store lives.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close ends watches and commits under way and closes the log. Snapshots that were given out stay good.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = cmp.Or(s.closed, ErrClosed)
		s.mu.Unlock()
		s.stop()
		s.work.Wait()
		s.state.close(ErrClosed)
		err = s.log.Close()
	})
	return err
}
