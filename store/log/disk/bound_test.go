package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/store"
	"github.com/bowline-dev/bowline/store/log/disk"
)

// TestAWriteAheadLogThatSomebodyCutShortIsRefused cuts the last commits off a store that was killed: whoever puts them back has them,
// and whoever goes on without them gets no revision twice.
func TestAWriteAheadLogThatSomebodyCutShortIsRefused(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(file string, size int64) error{
		"a byte":     func(file string, size int64) error { return os.Truncate(file, size-1) },
		"everything": func(file string, _ int64) error { return os.Truncate(file, 0) },
		"the file": func(file string, _ int64) error {
			return errors.Join(os.Remove(file), os.WriteFile(filepath.Join(filepath.Dir(file), "000001.log"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := crashed(t, filled(t), "b")
			file, data := lastWritten(t, dir)
			written := strings.TrimRight(string(data), "\x00") // what follows is reserved
			if err := cut(file, int64(len(written))); err != nil {
				t.Fatal(err)
			}
			var lost *disk.LostError
			if err := refused(t, dir); !errors.As(err, &lost) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "*.log") {
				t.Errorf("it is refused with %v", err)
			}
			if err := refused(t, dir); !errors.As(err, &lost) {
				t.Errorf("the second time it is refused with %v", err)
			}
			if _, err := disk.Open(dir, disk.Options{ReadOnly: true}); !errors.As(err, &lost) {
				t.Errorf("it is read with %v", err)
			}
			putBack := filepath.Join(t.TempDir(), "objects")
			if err := errors.Join(os.CopyFS(putBack, os.DirFS(dir)), os.WriteFile(filepath.Join(putBack, filepath.Base(file)), data, 0o600)); err != nil {
				t.Fatal(err)
			}
			s, _ := begun(t, putBack, disk.Options{})
			if value(s, "a") != "1" || value(s, "b") != "1" {
				t.Error("what was put back is not there")
			}
			closed(t, s)
			goesOn(t, dir, lost)
		})
	}
}

// lastWritten is the newest write-ahead log that has something.
func lastWritten(t *testing.T, dir string) (name string, data []byte) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, file := range slices.Backward(files) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Trim(string(data), "\x00") != "" {
			return file, data
		}
	}
	t.Fatal("nothing was written")
	return "", nil
}

// goesOn accepts the loss: the rest is there, over restarts, and revisions begin above all that were given out.
func goesOn(t *testing.T, dir string, lost *disk.LostError) {
	t.Helper()
	s, _ := begun(t, dir, disk.Options{AcceptLoss: true})
	if value(s, "a") != "1" || value(s, "b") != "" || s.Current() <= lost.Acknowledged {
		t.Errorf("a is %q, b is %q, at revision %d", value(s, "a"), value(s, "b"), s.Current())
	}
	var compacted *store.CompactedError
	if _, err := s.Watch("/configmaps/", lost.Found); !errors.As(err, &compacted) {
		t.Errorf("a watch from before goes on with %v", err)
	}
	put(t, s, "a", "2")
	last := s.Current()
	closed(t, s)
	s, _ = begun(t, dir, disk.Options{})
	if value(s, "a") != "2" || s.Current() != last {
		t.Errorf("a is %q, at revision %d", value(s, "a"), s.Current())
	}
	closed(t, s)
}

// TestATornBoundIsNone: what says how far the log went is not synced, and a crash may leave anything there.
func TestATornBoundIsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "000", strings.Repeat("\x00", 30), "09999999999999999999 00000000\n"} {
		dir := crashed(t, filled(t), "b")
		if err := os.WriteFile(filepath.Join(dir, "DURABLE"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _ := begun(t, dir, disk.Options{})
		put(t, s, "c", "1")
		closed(t, s)
	}
}
