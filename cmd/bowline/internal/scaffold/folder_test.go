package scaffold_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/scaffold"
)

var files = map[string][]byte{"a.txt": []byte("a"), "b/c.txt": []byte("c"), ".d": nil}

// contents returns the relative paths of all files and folders in a folder.
func contents(t *testing.T, folder string) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && path != folder {
			relative, _ := filepath.Rel(folder, path)
			found = append(found, relative)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func TestWriteCreatesFolder(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	for _, name := range []string{"new", strings.Repeat("n", 255), "empty"} {
		folder := filepath.Join(parent, name)
		if name == "empty" {
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := scaffold.Write(folder, files); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, folder); got != ".d a.txt b b/c.txt" {
			t.Errorf("got files %s, want those written", got)
		}
	}
	if got, err := os.ReadDir(parent); err != nil || len(got) != 3 {
		t.Errorf("got %v in the parent, error %v; want only the 3 folders", got, err)
	}
}

func TestWriteRejectsUnusableFolder(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	taken := filepath.Join(parent, "taken")
	if err := os.WriteFile(taken, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(parent, "nowhere")
	if err := os.Symlink("absent", nowhere); err != nil {
		t.Fatal(err)
	}
	for folder, refusal := range map[string]string{
		parent:                                "exists and contains nowhere and 1 more",
		nowhere:                               "is a link to a missing folder: create that",
		taken:                                 "not a directory",
		filepath.Join(taken, "in"):            "not a directory",
		filepath.Join(parent, "no", "parent"): "no such file or directory",
	} {
		if err := scaffold.Write(folder, files); err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%s: got error %v, want %s", folder, err, refusal)
		}
	}
	if got := contents(t, parent); got != "nowhere taken" {
		t.Errorf("got files %s, want the folder unchanged", got)
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	empty := filepath.Join(parent, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	impossible := map[string][]byte{"a": nil, "b": nil, "c/" + strings.Repeat("x", 300): nil}
	for _, folder := range []string{empty, filepath.Join(parent, "new")} {
		if err := scaffold.Write(folder, impossible); err == nil ||
			!strings.Contains(err.Error(), "nothing was created") {
			t.Errorf("%s: got error %v, want one that says that nothing was created", folder, err)
		}
	}
	if got := contents(t, parent); got != "empty" {
		t.Errorf("got files %s, want only the empty folder", got)
	}
}

// TestConcurrentWritesFillFolderOnce checks that exactly one of several concurrent writers succeeds, and that the
// others neither change nor remove its files.
func TestConcurrentWritesFillFolderOnce(t *testing.T) {
	t.Parallel()
	for _, isThere := range []bool{true, false} {
		folder := filepath.Join(t.TempDir(), "new")
		if isThere {
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		var filled atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if scaffold.Write(folder, files) == nil {
					filled.Add(1)
				}
			})
		}
		all.Wait()
		if got := contents(t, folder); filled.Load() != 1 || got != ".d a.txt b b/c.txt" {
			t.Errorf("got %d successful writers and files %s, want 1 writer and its files", filled.Load(), got)
		}
	}
}
