package disk_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/seed"
	"github.com/bowline-dev/bowline/internal/store"
)

// thorough tests every crash and every fault instead of a sample.
var thorough = os.Getenv("BOWLINE_FAULTS") != ""

// sampled reports whether to test the next of many cases: all if thorough, else one in oneIn.
func sampled(random *rand.Rand, oneIn int) bool { return thorough || random.IntN(oneIn) == 0 }

// TestEveryCrashRetainsAcknowledgedCommits simulates a power failure before every single change that a store
// makes to its disk, starting with its creation, and preserves none, all, or a part of the unsynced data. The
// store must open with every acknowledged commit complete and each commit in flight applied entirely or not
// at all, also after a second crash.
func TestEveryCrashRetainsAcknowledgedCommits(t *testing.T) {
	t.Parallel()
	seed := seed.Of(t)
	random := rand.New(rand.NewPCG(seed, 6))
	l, memory := newLedger(seed), vfs.NewCrashableMem()
	crashes, changes := 0, int64(0)
	fs := &faultyFS{FS: memory, decision: func(c change) (failing, error) {
		changes = c.number
		for _, unsynced := range []int{0, 100, 1 + random.IntN(99)} {
			if !sampled(random, 10) {
				continue
			}
			crashes++
			account := l.account()
			crashed := memory.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: random})
			if err := account.checkAfterCrash(t, crashed); err != nil {
				t.Errorf("seed %d: a crash before change %d (%s %s) with %d%% of what was not synced: %v",
					seed, c.number, c.kind, c.path, unsynced, err)
			}
		}
		return works, nil
	}}
	l.work(t, fs)
	t.Logf("%d crashes before %d changes of the disk, by %d commits in %d lives", crashes, changes, l.acked, lives)
}

// checkAfterCrash opens the store on a crashed disk, audits it, commits, and repeats this after a second crash.
func (a account) checkAfterCrash(t *testing.T, fs *vfs.MemFS) error {
	s, err := reopened(t.Context(), fs)
	if err != nil {
		return err
	}
	if err := a.check(t.Context(), s); err != nil {
		return fmt.Errorf("%w; closing: %w", err, s.Close())
	}
	next := newLedger(1)
	next.base = s.Current()
	if next.state, err = contents(t.Context(), s, store.Latest()); err != nil {
		return err
	}
	if err := next.commit(t.Context(), s); err != nil {
		return fmt.Errorf("the first commit after the crash: %w; closing: %w", err, s.Close())
	}
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = reopened(t.Context(), clone); err != nil {
		return fmt.Errorf("after a second crash: %w", err)
	}
	if err := next.account().check(t.Context(), s); err != nil {
		return fmt.Errorf("after a second crash: %w; closing: %w", err, s.Close())
	}
	return s.Close()
}

// TestWritesSucceedAfterEveryFault makes each single change of the disk fail, in every way that it can, once or for
// as long as the disk is full. Rejected writes succeed when the fault is over, without a restart; readers
// observe only acknowledged commits; and in the end these are on disk, whatever the syncs returned.
func TestWritesSucceedAfterEveryFault(t *testing.T) {
	t.Parallel()
	seed := seed.Of(t)
	total := int64(0)
	faultless := fault{seed: seed, number: -1}
	synctest.Test(t, func(t *testing.T) { total = faultless.run(t) })
	for _, how := range []failing{refuses, tears, deceives, loses} {
		for _, err := range []error{syscall.EIO, syscall.ENOSPC} {
			f := fault{seed: seed, how: how, err: err}
			if err == syscall.ENOSPC {
				f.lasts = 20 * time.Second
			}
			t.Run(fmt.Sprintf("%s with %v", how, err), func(t *testing.T) {
				t.Parallel()
				f.injectEverywhere(t, total)
			})
		}
	}
}

// injectEverywhere injects the fault into each change of the disk in turn.
func (f fault) injectEverywhere(t *testing.T, changes int64) {
	random := rand.New(rand.NewPCG(f.seed, 7+uint64(f.how)+uint64(f.lasts)))
	tried := 0
	for f.number = 1; f.number <= changes; f.number++ {
		if !sampled(random, 60) {
			continue
		}
		tried++
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d: when change %d of the disk %s with %v, for %v", f.seed, f.number, f.how, f.err,
						f.lasts)
				}
			}()
			f.run(t)
		})
	}
	t.Logf("%d of %d changes of the disk", tried, changes)
}

// fault is a change of the disk that fails, and how. If lasts is set, all changes that need space fail for
// that long.
type fault struct {
	seed   uint64
	number int64
	how    failing
	err    error
	lasts  time.Duration
}

// run runs the workload on a disk with the fault, and returns the number of changes it made.
func (f fault) run(t *testing.T) int64 {
	l, memory := newLedger(f.seed), vfs.NewCrashableMem()
	var until time.Time
	fs := &faultyFS{FS: memory, decision: func(c change) (failing, error) {
		if c.number == f.number {
			until = time.Now().Add(f.lasts)
			return f.how, f.err
		}
		if c.kind != "remove" && c.kind != "rename" && time.Now().Before(until) {
			return f.how, f.err
		}
		return works, nil
	}}
	l.work(t, fs)
	if l.acked != lives*commits {
		t.Errorf("%d commits were acknowledged", l.acked)
	}
	if err := l.account().checkAfterCrash(t, memory.CrashClone(vfs.CrashCloneCfg{})); err != nil {
		t.Error(err)
	}
	return fs.count
}
