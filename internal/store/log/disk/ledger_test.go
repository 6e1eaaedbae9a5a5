package disk_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
	"github.com/bowline-dev/bowline/object"
)

// ledger is one writer's account of what a store must hold: what was acknowledged, and what may be there beside it.
type ledger struct {
	random *rand.Rand

	mu    sync.Mutex
	base  object.Revision
	acked int
	state map[object.Key]string
	// past are the states before it, the oldest first.
	past []map[object.Key]string
	// maybe are the commits since the last acknowledgement: one is under way, others have failed. One of them may be there.
	maybe [][]store.Change
}

func newLedger(seed uint64) *ledger {
	return &ledger{random: rand.New(rand.NewPCG(seed, 5)), state: map[object.Key]string{}}
}

// changes are one to three random ones, some of them longer than a block of the disk.
func (l *ledger) changes() (changes []store.Change) {
	for _, i := range l.random.Perm(12)[:1+l.random.IntN(3)] {
		key := storetest.Key(fmt.Sprint("key-", i))
		if _, there := l.state[key]; there && l.random.IntN(4) == 0 {
			changes = append(changes, storetest.Delete(key, store.Anything()))
			continue
		}
		value := fmt.Sprintf("%d-%s", l.random.Uint32(), strings.Repeat("v", l.random.IntN(6000)))
		changes = append(changes, storetest.Put(key, value, store.Anything()))
	}
	return changes
}

// commit commits and keeps the account.
func (l *ledger) commit(ctx context.Context, s *store.Store) error {
	changes := l.changes()
	l.mu.Lock()
	l.maybe = append(l.maybe, changes)
	l.mu.Unlock()
	revision, err := s.Commit(ctx, changes...)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked++
	if want := l.base + object.Revision(l.acked); revision != want {
		return fmt.Errorf("the commit after %d acknowledged ones has revision %d, not %d", l.acked-1, revision, want)
	}
	l.past = append(l.past, l.state)
	l.state, l.maybe = after(l.state, changes), nil
	return nil
}

// after is a state that changes were made to.
func after(state map[object.Key]string, changes []store.Change) map[object.Key]string {
	state = maps.Clone(state)
	for _, c := range changes {
		delete(state, c.Key)
		if c.Object != nil {
			state[c.Key] = storetest.Value(c.Object)
		}
	}
	return state
}

// account is a ledger at a moment.
type account struct {
	base   object.Revision
	acked  int
	states []map[object.Key]string // as acknowledged, and with each of what may be there too
}

func (l *ledger) account() account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := account{base: l.base, acked: l.acked, states: []map[object.Key]string{l.state}}
	for _, changes := range l.maybe {
		a.states = append(a.states, after(l.state, changes))
	}
	return a
}

// audit says what is wrong with a store that was opened again; nil if nothing is.
func (a account) audit(ctx context.Context, s *store.Store) error {
	got, err := held(ctx, s, store.Latest())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(a.states, func(state map[object.Key]string) bool { return maps.Equal(state, got) })
	if i < 0 {
		return fmt.Errorf("after %d acknowledged commits there is\n%s\nnot\n%s", a.acked, brief(got), brief(a.states...))
	}
	want := a.base + object.Revision(a.acked+min(i, 1))
	same := i > 0 && maps.Equal(a.states[0], a.states[i]) && s.Current() == want-1 // a delete of nothing
	if current := s.Current(); current != want && a.base != 0 && !same {
		return fmt.Errorf("after %d acknowledged commits the revision is %d, not %d", a.acked, current, want)
	}
	return remembers(ctx, s, got)
}

// held is everything in a state of a store.
func held(ctx context.Context, s *store.Store, which store.Which) (map[object.Key]string, error) {
	snapshot, err := s.Snapshot(ctx, which)
	if err != nil {
		return nil, err
	}
	got := map[object.Key]string{}
	snapshot.Scan(object.Prefix(storetest.Key("").GroupResource(), ""), "", func(o *object.Object) bool {
		got[o.Key] = storetest.Value(o)
		return true
	})
	return got, nil
}

// remembers checks that the history leads from its beginning to a state.
func remembers(ctx context.Context, s *store.Store, to map[object.Key]string) error {
	state, err := held(ctx, s, store.Exactly(s.Oldest()))
	if err != nil {
		return err
	}
	w, err := s.Watch(object.Prefix(storetest.Key("").GroupResource(), ""), s.Oldest())
	if err != nil {
		return err
	}
	defer w.Stop()
	events, err := w.Take(1 << 20)
	if err != nil {
		return err
	}
	for _, e := range events {
		if state[e.Key()] != storetest.Value(e.Previous) {
			return fmt.Errorf("the event of %s at %d shows another state before it than there was", e.Key(), e.Revision())
		}
		delete(state, e.Key())
		if !e.Deleted {
			state[e.Key()] = storetest.Value(e.Object)
		}
	}
	if !maps.Equal(state, to) {
		return fmt.Errorf("the history leads to\n%s\nnot\n%s", brief(state), brief(to))
	}
	return nil
}

// brief shows states without the length of their values.
func brief(states ...map[object.Key]string) string {
	var lines []string
	for _, state := range states {
		line := ""
		for _, key := range slices.Sorted(maps.Keys(state)) {
			line += fmt.Sprintf("%s=%.12s(%d) ", key.Name(), state[key], len(state[key]))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\nor\n")
}

// small is a history that a workload outgrows, so that it is trimmed.
var small = store.Options{HistoryBytes: 100_000}

// reopened opens a store on a disk; an error is that of the disk.
func reopened(ctx context.Context, fs vfs.FS) (*store.Store, error) {
	l, err := disk.Open("store", disk.Options{FS: fs})
	if err != nil {
		return nil, err
	}
	return store.New(ctx, l, small)
}

// lives is how often a workload opens the store, and commits how many it makes in each.
const (
	lives   = 3
	commits = 30
)

// work opens a store, commits, closes it, and does so again. What fails is tried again after a second, until it succeeds.
func (l *ledger) work(t *testing.T, fs vfs.FS) {
	t.Helper()
	for range lives {
		var s *store.Store
		l.insist(t, func() (err error) {
			s, err = reopened(t.Context(), fs)
			return err
		})
		l.mu.Lock()
		if l.base == 0 {
			l.base = s.Current()
		}
		l.mu.Unlock()
		t.Cleanup(func() { _ = s.Close() })
		for range commits {
			l.insist(t, func() error {
				err := l.commit(t.Context(), s)
				if got, unread := held(t.Context(), s, store.Latest()); unread != nil || !maps.Equal(got, l.state) {
					t.Errorf("when a commit returned %v, a reader sees (%v)\n%s\nnot\n%s", err, unread, brief(got), brief(l.state))
				}
				return err
			})
		}
		if err := s.Close(); err != nil {
			t.Logf("closing: %v", err) // which may be what this is about
		}
	}
}

// insist does something until it succeeds, which it must within a minute.
func (l *ledger) insist(t *testing.T, do func() error) {
	t.Helper()
	var errs []error
	for range 60 {
		err := do()
		if err == nil {
			return
		}
		errs = append(errs, err)
		time.Sleep(time.Second) // in a bubble
	}
	t.Fatalf("it fails on and on: %v", errors.Join(errs[0], errs[len(errs)-1]))
}
