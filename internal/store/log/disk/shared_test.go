package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// TestOpenForReadingChangesNothing opens a crashed store for reading, twice at the same time.
func TestOpenForReadingChangesNothing(t *testing.T) {
	t.Parallel()
	dir := crashed(t, filled(t), "b")
	before := content(t, dir)
	var stores []*store.Store
	for range 2 {
		s, l := opened(t, dir, disk.Options{ReadOnly: true})
		for _, name := range []string{"a", "b"} {
			if o := s.Get(storetest.Key(name)); o == nil {
				t.Errorf("%s is not there", name)
			}
		}
		if err := l.Health(); err == nil || !strings.Contains(err.Error(), "open read-only") {
			t.Errorf("the health of a read-only log is %v", err)
		}
		stores = append(stores, s)
	}
	for _, s := range stores {
		closed(t, s)
	}
	if after := content(t, dir); after != before {
		t.Errorf("reading it changed the folder from\n%s\nto\n%s", before, after)
	}
}

func TestOpenForReadingCreatesNoStore(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for _, dir := range []string{missing, t.TempDir()} {
		for _, options := range []disk.Options{{ReadOnly: true}, {MustExist: true}} {
			_, err := disk.Open(dir, options)
			if !errors.Is(err, disk.ErrNoStore) || !strings.Contains(err.Error(), dir) {
				t.Errorf("Open without a store returned %v", err)
			}
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the folder was created")
	}
}
