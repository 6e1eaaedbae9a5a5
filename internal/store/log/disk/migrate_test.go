package disk

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// TestOlderLayoutIsMigrated opens a directory of layout 1 with a program of layout 3. The
// migration is interrupted in the second step and resumes with that step.
func TestOlderLayoutIsMigrated(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	first, err := Open("objects", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	revision, _ := first.Current(t.Context())
	if err := errors.Join(first.Append(t.Context(), []log.Commit{{Revision: revision + 1}}),
		first.Close()); err != nil {
		t.Fatal(err)
	}

	var done []string
	cut := errors.New("cut short")
	step := func(name string, err error) func(*pebble.DB) error {
		return func(db *pebble.DB) error {
			done = append(done, name)
			return errors.Join(err, db.Set([]byte{facts, name[0]}, []byte(name), pebble.NoSync))
		}
	}
	if err := migrated(t, fs, migrations{step("one", nil), step("two", cut)}); !errors.Is(err, cut) {
		t.Fatalf("the interrupted migration returned %v", err)
	}
	if err := migrated(t, fs, migrations{step("one", nil), step("two", nil)}); err != nil {
		t.Fatal(err)
	}
	if got, _ := readWhole(fs, "objects", formatFile); got != (storeFormat{layout: 3, ready: true}).String() {
		t.Errorf("the format is %q", got)
	}
	if len(done) != 3 || done[0] != "one" || done[1] != "two" || done[2] != "two" {
		t.Errorf("the steps were %v", done)
	}
	if got := currentOf(t, fs); got != revision+1 {
		t.Errorf("the revision is %d, not %d", got, revision+1)
	}
}

// migrated opens a directory as a program with these migrations would.
func migrated(t *testing.T, fs vfs.FS, steps migrations) error {
	t.Helper()
	lock, err := lockForWriting(fs, "objects")
	if err != nil {
		t.Fatal(err)
	}
	l := &directory{path: "objects", options: Options{FS: fs}.filled(), lock: lock}
	s, err := readFormat(t, fs)
	if err == nil {
		err = l.migrate(s, steps)
	}
	return errors.Join(err, lock.release())
}

func readFormat(t *testing.T, fs vfs.FS) (storeFormat, error) {
	t.Helper()
	text, err := readWhole(fs, "objects", formatFile)
	if err != nil {
		t.Fatal(err)
	}
	return parseFormat(text)
}

// currentOf checks the rows that the steps wrote, and returns the current revision of the database.
func currentOf(t *testing.T, fs vfs.FS) object.Revision {
	t.Helper()
	db, err := pebble.Open("objects", &pebble.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, key := range []string{"one", "two"} {
		value, closer, err := db.Get([]byte{facts, key[0]})
		if err != nil || string(value) != key {
			t.Errorf("step %s left %q, %v", key, value, err)
		} else {
			closer.Close()
		}
	}
	_, last, err := newest(db)
	if err != nil {
		t.Fatal(err)
	}
	return last.revision
}
