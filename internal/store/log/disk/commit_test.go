package disk_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// TestCommitsShareSyncAndAreVisibleAfterIt blocks the sync of the write-ahead log. Until it completes,
// no commit returns and no reader observes the changes; all writers that arrive meanwhile share the next
// sync.
func TestCommitsShareSyncAndAreVisibleAfterIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs := newFaulty(vfs.NewCrashableMem())
		s, _ := started(t, fs)
		before := s.Current()
		var syncs, answered atomic.Int64
		release := make(chan struct{})
		fs.failing(func(op errorfs.Op) error {
			if strings.HasSuffix(op.Path, ".log") &&
				(op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
				syncs.Add(1)
				<-release
			}
			return nil
		})
		const writers = 64
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				if _, err := s.Commit(t.Context(),
					storetest.Put(storetest.Key(fmt.Sprint(i)), "1", store.Absent())); err != nil {
					t.Error(err)
				}
				answered.Add(1)
			})
		}
		synctest.Wait()
		if seen := s.Current() - before; syncs.Load() != 1 || answered.Load() != 0 || seen != 0 || value(s, "0") != "" {
			t.Errorf("during the first sync, there were %d syncs, %d writers had returned, and %d commits were visible",
				syncs.Load(), answered.Load(), seen)
		}
		close(release)
		all.Wait()
		if n := syncs.Load(); n > 2 {
			t.Errorf("%d concurrent writers caused %d syncs", writers, n)
		}
		crashed := fs.crash(0)
		closed(t, s)
		restarted, _ := started(t, crashed)
		for i := range writers {
			if value(restarted, fmt.Sprint(i)) != "1" {
				t.Errorf("after a crash, the commit of writer %d is missing", i)
			}
		}
		closed(t, restarted)
	})
}

// TestCommitsDoNotWaitForTables blocks the background flush to tables and commits enough data for several
// tables: no commit may wait for a table.
func TestCommitsDoNotWaitForTables(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Int64
		released := make(chan struct{})
		release := sync.OnceFunc(func() { close(released) })
		defer release()
		fs := newFaulty(vfs.NewCrashableMem())
		s := openMemory(t, fs, store.Options{HistoryBytes: 1 << 20})
		fs.failing(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
				held.Add(1)
				<-released
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		large := strings.Repeat("x", 256<<10)
		for i := range 24 << 20 / len(large) {
			change := storetest.Put(storetest.Key(fmt.Sprint(i%10)), large, store.Anything())
			if _, err := s.Commit(ctx, change); err != nil {
				t.Fatalf("commit %d waited for a table: %v", i, err)
			}
		}
		if held.Load() == 0 {
			t.Error("no table was written: the test is inconclusive")
		}
		release()
		closed(t, s)
	})
}

// TestLoadReturnsEachLiveObjectOnce checks that Load returns each live object once and in key order, however often
// it was written, and no deleted object.
func TestLoadReturnsEachLiveObjectOnce(t *testing.T) {
	t.Parallel()
	memory := vfs.NewMem()
	s := openMemory(t, memory, store.Options{})
	for round := range 3 {
		for i := range 700 {
			put(t, s, fmt.Sprintf("%03d", i), fmt.Sprint(round))
		}
	}
	if _, err := s.Commit(t.Context(), storetest.Delete(storetest.Key("007"), store.Anything())); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	l := open(t, "objects", disk.Options{FS: memory})
	defer l.Close()
	count, last := 0, object.Key("")
	_, err := l.Load(t.Context(), log.Loading{
		Live: func(o *object.Object) error {
			if o.Key <= last || storetest.Value(o) != "2" {
				t.Errorf("%s is followed by %s=%s", last, o.Key, storetest.Value(o))
			}
			count, last = count+1, o.Key
			return nil
		},
		History: func(*object.Event, time.Time) error { return nil },
		Damaged: func(key object.Key, err error) error { return fmt.Errorf("%s: %w", key, err) },
	})
	if err != nil || count != 699 {
		t.Errorf("%d objects were read, %v", count, err)
	}
}
