package durable_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/bowline-dev/bowline/internal/durable"
)

func TestFileIsReplacedAtomically(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "key")
	if err := os.WriteFile(path, []byte("a long text that was there before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "new" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestFailureLeavesOldFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	taken := filepath.Join(folder, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(taken, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if err := durable.WriteFile(filepath.Join(folder, "none", "file"), []byte("x"), 0o600); !os.IsNotExist(err) {
		t.Errorf("a file in no folder: %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestReadersSeeCompleteFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	versions := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<10)}
	var writers sync.WaitGroup
	for _, version := range versions {
		writers.Go(func() {
			for range 20 {
				if err := durable.WriteFile(path, version, fs.FileMode(0o600)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for {
		text, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(text, versions[0]) && !bytes.Equal(text, versions[1]) {
			t.Errorf("a reader saw %d bytes that were not written together", len(text))
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestOnlyRegularFilesAreRead checks that nothing waits for a pipe, or reads a device.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	if err := errors.Join(syscall.Mkfifo(in("pipe"), 0o600), os.Symlink("pipe", in("link to a pipe")),
		os.Symlink("/dev/zero", in("link to a device")), os.WriteFile(in("file"), []byte("12345"), 0o600),
		os.Symlink("file", in("link"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe", "link to a pipe", "link to a device", "."} {
		if _, err := durable.ReadFile(in(name), 10); !errors.Is(err, durable.ErrIrregular) {
			t.Errorf("%s: got error %v, want ErrIrregular", name, err)
		}
	}
	for _, name := range []string{"file", "link"} {
		if text, err := durable.ReadFile(in(name), 5); string(text) != "12345" || err != nil {
			t.Errorf("%s: got %q, error %v", name, text, err)
		}
		if _, err := durable.ReadFile(in(name), 4); !errors.Is(err, durable.ErrTooLarge) {
			t.Errorf("%s: got error %v, want ErrTooLarge", name, err)
		}
	}
	if _, err := durable.ReadFile(in("missing"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: got error %v", err)
	}
}
