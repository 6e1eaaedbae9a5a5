package disk_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// faulty is a disk whose changes can be made to fail. If it is in memory, a crash discards its unsynced data.
type faulty struct {
	vfs.FS
	memory *vfs.MemFS
	fail   atomic.Pointer[func(op errorfs.Op) error]
}

func newFaulty(beneath vfs.FS) *faulty {
	f := &faulty{}
	f.memory, _ = beneath.(*vfs.MemFS)
	f.FS = errorfs.Wrap(beneath, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fail := f.fail.Load(); fail != nil && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return (*fail)(op)
		}
		return nil
	}))
	return f
}

// failing calls fail before each change and returns its error from the change; nil disables it.
func (f *faulty) failing(fail func(errorfs.Op) error) {
	if fail == nil {
		f.fail.Store(nil)
		return
	}
	f.fail.Store(&fail)
}

// crash returns the disk as it is after a power failure, with the given percentage of the unsynced data.
func (f *faulty) crash(unsynced int) *faulty {
	return newFaulty(f.memory.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: unsynced, RNG: rand.New(rand.NewPCG(1, uint64(unsynced))),
	}))
}

// full fails every operation that needs space.
func full(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpCreate, errorfs.OpLink, errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync,
		errorfs.OpFileSyncData:
		return syscall.ENOSPC
	}
	return nil
}

// started returns a store on a disk in memory.
func started(t *testing.T, fs vfs.FS) (*store.Store, *disk.Log) {
	t.Helper()
	l := open(t, "objects", disk.Options{FS: fs})
	s, err := store.New(t.Context(), l, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

func closed(t *testing.T, s *store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func put(t *testing.T, s *store.Store, name, value string) {
	t.Helper()
	if _, err := s.Commit(t.Context(), storetest.Put(storetest.Key(name), value, store.Anything())); err != nil {
		t.Fatal(err)
	}
}

func value(s *store.Store, name string) string { return storetest.Value(s.Get(storetest.Key(name))) }

func TestFullDiskRejectsWritesUntilSpaceIsFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs := newFaulty(vfs.NewCrashableMem())
		s, l := started(t, fs)
		put(t, s, "a", "1")
		before := s.Current()

		fs.failing(full)
		for range 3 {
			_, err := s.Commit(t.Context(), storetest.Put(storetest.Key("a"), "refused", store.Anything()))
			var fullError *log.FullError
			if !errors.As(err, &fullError) || fullError.Medium != "objects" {
				t.Fatalf("on a full disk a write returned %v", err)
			}
			time.Sleep(7 * time.Second)
		}
		if l.Health() == nil || value(s, "a") != "1" || s.Current() != before {
			t.Errorf("on a full disk the health is %v, and a reader sees %q at %d", l.Health(), value(s, "a"),
				s.Current())
		}

		fs.failing(nil)
		time.Sleep(6 * time.Second)
		if err := l.Health(); err != nil {
			t.Errorf("with free space the health is %v", err)
		}
		put(t, s, "a", "2")
		if s.Current() != before+1 {
			t.Errorf("the next write has revision %d after %d", s.Current(), before)
		}
		put(t, s, "b", "1")
		crashed := fs.crash(0)
		closed(t, s)
		restarted, _ := started(t, crashed)
		if value(restarted, "a") != "2" || value(restarted, "b") != "1" {
			t.Errorf("after a crash there is %q and %q", value(restarted, "a"), value(restarted, "b"))
		}
		closed(t, restarted)
	})
}

// TestMovedFolderIsDetected moves the directory of a store in use. No other directory is created in
// its place, and everything written before the move was noticed is present after moving it back.
func TestMovedFolderIsDetected(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "objects")
	synctest.Test(t, func(t *testing.T) {
		s, l := opened(t, dir, disk.Options{})
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		last, big := "", strings.Repeat("x", 20<<10)
		for i := range 2000 {
			name := fmt.Sprint("big-", i)
			if _, err := s.Commit(t.Context(), storetest.Put(storetest.Key(name), big, store.Anything())); err != nil {
				break
			}
			last = name
		}
		time.Sleep(20 * time.Second)
		if err := l.Health(); err == nil || last == "" || !strings.Contains(err.Error(), dir) {
			t.Errorf("after %s the health is %v", last, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("a new folder was created")
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		put(t, s, "back", "1")
		closed(t, s)
		reopened, _ := opened(t, dir, disk.Options{})
		if value(reopened, last) != big || value(reopened, "back") != "1" {
			t.Errorf("%s or what was written after it is missing", last)
		}
		closed(t, reopened)
	})
}

// TestFailedSyncIsNotVisibleLater fails the sync of one commit once, with its data in the page
// cache. The writer received an error, so the commit must not reappear after the repair or after a later
// crash.
func TestFailedSyncIsNotVisibleLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs := newFaulty(vfs.NewCrashableMem())
		s, _ := started(t, fs)
		put(t, s, "a", "1")
		var failed atomic.Bool
		fs.failing(func(op errorfs.Op) error {
			if strings.HasSuffix(op.Path, ".log") &&
				(op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) && !failed.Swap(true) {
				return syscall.EIO
			}
			return nil
		})
		_, err := s.Commit(t.Context(), storetest.Put(storetest.Key("a"), "refused", store.Anything()))
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("a failed sync is reported as %v", err)
		}
		time.Sleep(time.Second)
		put(t, s, "b", "1")
		crashed := fs.crash(50)
		if value(s, "a") != "1" {
			t.Errorf("the failed write is visible: %q", value(s, "a"))
		}
		closed(t, s)
		restarted, _ := started(t, crashed)
		if value(restarted, "a") != "1" || value(restarted, "b") != "1" {
			t.Errorf("after a crash there is %q and %q", value(restarted, "a"), value(restarted, "b"))
		}
		closed(t, restarted)
	})
}

func TestOpenOnFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs := newFaulty(vfs.NewCrashableMem())
		s, _ := started(t, fs)
		put(t, s, "a", "1")
		last := s.Current()
		closed(t, s)

		fs.failing(full)
		s, l := started(t, fs)
		_, err := s.Commit(t.Context(), storetest.Put(storetest.Key("b"), "refused", store.Anything()))
		var fullError *log.FullError
		if !errors.As(err, &fullError) || l.Health() == nil || value(s, "a") != "1" || s.Current() != last {
			t.Errorf("opened on a full disk, a write returned %v, and a reader sees %q at %d", err, value(s, "a"),
				s.Current())
		}
		fs.failing(nil)
		time.Sleep(6 * time.Second)
		put(t, s, "b", "1")
		closed(t, s)
	})
}

// TestRepairedStoreStillReportsLoss repairs a store whose DURABLE file was removed. The repair writes the file
// again, so a truncated write-ahead log is still detected.
func TestRepairedStoreStillReportsLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs := newFaulty(vfs.NewCrashableMem())
		s, _ := started(t, fs)
		put(t, s, "a", "1")
		fs.failing(full)
		_, err := s.Commit(t.Context(), storetest.Put(storetest.Key("a"), "refused", store.Anything()))
		if err == nil {
			t.Fatal("the write on a full disk succeeded")
		}
		if err := fs.Remove("objects/DURABLE"); err != nil {
			t.Fatal(err)
		}
		fs.failing(nil)
		time.Sleep(6 * time.Second)
		put(t, s, "b", "1")
		killed := fs.crash(100)
		closed(t, s)

		logs := slices.DeleteFunc(must(killed.List("objects"))(t), func(name string) bool {
			return path.Ext(name) != ".log"
		})
		f := must(killed.Create(path.Join("objects", slices.Max(logs)), vfs.WriteCategoryUnspecified))(t)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		var lost *disk.LostError
		l, err := disk.Open("objects", disk.Options{FS: killed})
		if err == nil {
			err = l.Close()
		}
		if !errors.As(err, &lost) {
			t.Errorf("Open returned %v", err)
		}
	})
}
