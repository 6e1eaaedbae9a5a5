package scaffold_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/scaffold"
)

var files = map[string][]byte{"a.txt": []byte("a"), "b/c.txt": []byte("c"), ".d": nil}

// contents are the paths of all files in a folder.
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

func TestFolderIsWritten(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	for _, name := range []string{"new", "empty"} {
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
			t.Errorf("in the folder are %s", got)
		}
	}
	if got, err := os.ReadDir(parent); err != nil || len(got) != 2 {
		t.Errorf("beside them are %v, %v", got, err)
	}
}

func TestFolderIsLeftAlone(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	taken := filepath.Join(parent, "taken")
	if err := os.WriteFile(taken, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, refusal := range map[string]string{
		parent:                                "is there already, with taken in it",
		taken:                                 "not a directory",
		filepath.Join(taken, "in"):            "not a directory",
		filepath.Join(parent, "no", "parent"): "no such file or directory",
	} {
		if err := scaffold.Write(folder, files); err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%s: the error is %v; want %s", folder, err, refusal)
		}
	}
	if got := contents(t, parent); got != "taken" {
		t.Errorf("what is there is %s now", got)
	}
}

func TestNothingIsLeftOfAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	empty := filepath.Join(parent, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	impossible := map[string][]byte{"a": nil, "b": nil, "c/" + strings.Repeat("x", 300): nil}
	for _, folder := range []string{empty, filepath.Join(parent, "new")} {
		if err := scaffold.Write(folder, impossible); err == nil || !strings.Contains(err.Error(), "nothing was made") {
			t.Errorf("the error is %v", err)
		}
	}
	if got := contents(t, parent); got != "empty" {
		t.Errorf("what is left is %s", got)
	}
}
