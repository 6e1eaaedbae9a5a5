package disk_test

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// objectsAt yields n objects at one revision, and then the error last if it is not nil.
func objectsAt(t *testing.T, n int, revision object.Revision, last error) iter.Seq2[*object.Object, error] {
	return func(yield func(*object.Object, error) bool) {
		for i := range n {
			o := storetest.NewObject(storetest.Key(fmt.Sprintf("%06d", i)), fmt.Sprint(i))
			if err := o.Stamp(revision); err != nil {
				t.Error(err)
			}
			if !yield(o, nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

func TestRestoredLogStartsAtRevision(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "store")
	const old, begin = 1_000_000_000_000_000, 1_000_000_000_000_000 + 1<<32
	if err := disk.Restore(dir, disk.Options{}, begin, objectsAt(t, 20_000, old, nil)); err != nil {
		t.Fatal(err)
	}
	if err := disk.Restore(dir, disk.Options{}, begin, objectsAt(t, 1, old, nil)); !errors.Is(err, disk.ErrNotEmpty) {
		t.Errorf("Restore over a store returned %v", err)
	}
	for _, want := range []object.Revision{old, begin + 1} { // as restored, then after a write
		l, err := disk.Open(dir, disk.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.New(t.Context(), l, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		snapshot, err := s.Snapshot(t.Context(), store.Latest())
		if err != nil || snapshot.Size() != 20_000 {
			t.Fatalf("there are %d objects, %v", snapshot.Size(), err)
		}
		if o := s.Get(storetest.Key("000777")); storetest.Value(o) != "777" || o.Revision != want {
			t.Errorf("an object reads %s at %d", storetest.Value(o), o.Revision)
		}
		var compacted *store.CompactedError
		if _, err := s.Watch("/configmaps/", begin-1); s.Oldest() < begin || !errors.As(err, &compacted) {
			t.Errorf("the oldest revision is %d, and a watch from before it returned %v", s.Oldest(), err)
		}
		if _, err := s.Commit(t.Context(), storetest.Put(storetest.Key("000777"), "777", store.At(want))); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFailedRestoreIsNotAStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cut := errors.New("the backup is cut short")
	if err := disk.Restore(dir, disk.Options{}, 5, objectsAt(t, 100, 4, cut)); !errors.Is(err, cut) {
		t.Errorf("Restore returned %v, want the error of the objects", err)
	}
	if err := disk.Restore(dir, disk.Options{}, 5, objectsAt(t, 1, 6, nil)); err == nil {
		t.Error("Restore accepted an object that is newer than its revision")
	}
	if err := disk.Restore(dir, disk.Options{}, 5, objectsAt(t, 10, 4, nil)); err != nil {
		t.Errorf("after failures: %v", err)
	}
}
