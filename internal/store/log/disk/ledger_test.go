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

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// ledger records what a store must contain after one writer's commits: the acknowledged state, and possible
// later states.
type ledger struct {
	random *rand.Rand

	mu    sync.Mutex
	base  object.Revision
	acked int
	state map[object.Key]string
	// earlier holds the previous states, oldest first.
	earlier []map[object.Key]string
	// uncertain holds the commits since the last acknowledged one: one in flight, the others failed. At most one
	// may be applied.
	uncertain [][]store.Change
}

func newLedger(seed uint64) *ledger {
	return &ledger{random: rand.New(rand.NewPCG(seed, 5)), state: map[object.Key]string{}}
}

// changes returns one to three random changes; some values are longer than a disk block.
func (l *ledger) changes() (changes []store.Change) {
	for _, i := range l.random.Perm(12)[:1+l.random.IntN(3)] {
		key := storetest.Key(fmt.Sprint("key-", i))
		if _, found := l.state[key]; found && l.random.IntN(4) == 0 {
			changes = append(changes, storetest.Delete(key, store.Anything()))
			continue
		}
		value := fmt.Sprintf("%d-%s", l.random.Uint32(), strings.Repeat("v", l.random.IntN(6000)))
		changes = append(changes, storetest.Put(key, value, store.Anything()))
	}
	return changes
}

// commit commits random changes and records the result.
func (l *ledger) commit(ctx context.Context, s *store.Store) error {
	changes := l.changes()
	l.mu.Lock()
	l.uncertain = append(l.uncertain, changes)
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
	l.earlier = append(l.earlier, l.state)
	l.state, l.uncertain = after(l.state, changes), nil
	return nil
}

// after returns the state with the changes applied.
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

// account is a snapshot of a ledger.
type account struct {
	base   object.Revision
	acked  int
	states []map[object.Key]string // the acknowledged state, then one state per possible commit
}

func (l *ledger) account() account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := account{base: l.base, acked: l.acked, states: []map[object.Key]string{l.state}}
	for _, changes := range l.uncertain {
		a.states = append(a.states, after(l.state, changes))
	}
	return a
}

// check returns an error if the contents of a reopened store differ from the account.
func (a account) check(ctx context.Context, s *store.Store) error {
	got, err := contents(ctx, s, store.Latest())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(a.states, func(state map[object.Key]string) bool { return maps.Equal(state, got) })
	if i < 0 {
		return fmt.Errorf("after %d acknowledged commits there is\n%s\nnot\n%s", a.acked, summary(got),
			summary(a.states...))
	}
	want := a.base + object.Revision(a.acked+min(i, 1))
	same := i > 0 && maps.Equal(a.states[0], a.states[i]) && s.Current() == want-1 // a delete of nothing
	if current := s.Current(); current != want && a.base != 0 && !same {
		return fmt.Errorf("after %d acknowledged commits the revision is %d, not %d", a.acked, current, want)
	}
	return checkHistory(ctx, s, got)
}

// contents returns the values of all objects in a snapshot of a store.
func contents(ctx context.Context, s *store.Store, which store.RevisionSelector) (map[object.Key]string, error) {
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

// checkHistory checks that applying the history to its oldest state yields the state to.
func checkHistory(ctx context.Context, s *store.Store, to map[object.Key]string) error {
	state, err := contents(ctx, s, store.Exactly(s.Oldest()))
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
			return fmt.Errorf("the event of %s at %d shows another state before it than there was", e.Key(),
				e.Revision())
		}
		delete(state, e.Key())
		if !e.Deleted {
			state[e.Key()] = storetest.Value(e.Object)
		}
	}
	if !maps.Equal(state, to) {
		return fmt.Errorf("the history leads to\n%s\nnot\n%s", summary(state), summary(to))
	}
	return nil
}

// summary formats states with abbreviated values.
func summary(states ...map[object.Key]string) string {
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

// small configures a history smaller than the workload, so that it is trimmed.
var small = store.Options{HistoryBytes: 100_000}

// reopened opens a store on a disk; errors are those of the disk.
func reopened(ctx context.Context, fs vfs.FS) (*store.Store, error) {
	l, err := disk.Open("store", disk.Options{FS: fs})
	if err != nil {
		return nil, err
	}
	return store.New(ctx, l, small)
}

// lives is how often a workload opens the store, and commits the number of commits in each life.
const (
	lives   = 3
	commits = 30
)

// work repeatedly opens a store, commits and closes it. Failed operations are retried every second until they
// succeed.
func (l *ledger) work(t *testing.T, fs vfs.FS) {
	t.Helper()
	for range lives {
		var s *store.Store
		l.retry(t, func() (err error) {
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
			l.retry(t, func() error {
				err := l.commit(t.Context(), s)
				if got, unread := contents(t.Context(), s, store.Latest()); unread != nil || !maps.Equal(got, l.state) {
					t.Errorf("when a commit returned %v, a reader sees (%v)\n%s\nnot\n%s", err, unread, summary(got),
						summary(l.state))
				}
				return err
			})
		}
		if err := s.Close(); err != nil {
			t.Logf("closing: %v", err) // expected with an injected fault
		}
	}
}

// retry retries do every second until it succeeds, for at most a minute.
func (l *ledger) retry(t *testing.T, do func() error) {
	t.Helper()
	var errs []error
	for range 60 {
		err := do()
		if err == nil {
			return
		}
		errs = append(errs, err)
		time.Sleep(time.Second) // does not wait in a synctest bubble
	}
	t.Fatalf("it fails on and on: %v", errors.Join(errs[0], errs[len(errs)-1]))
}
