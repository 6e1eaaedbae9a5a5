package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestEndlessFileIsRejected(t *testing.T) {
	t.Parallel()
	if _, err := readBounded("f", endless{}, 1000); err == nil ||
		err.Error() != "f is larger than 1000 bytes: split it into several files" {
		t.Errorf("got error %v, want one that names the limit", err)
	}
	if text, err := readBounded("f", strings.NewReader("four"), 4); string(text) != "four" || err != nil {
		t.Errorf("a file of the largest size: got %q, error %v", text, err)
	}
}

// TestPipesAreReadIfNamed checks that a named pipe of -f is read, and one in a folder is an error: nobody may
// ever write to it.
func TestPipesAreReadIfNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	declared, failures := Read([]string{folder}, nil)
	if len(declared) > 0 || len(failures) != 1 || !strings.Contains(failures[0].Error(), "pipe.yaml") ||
		!strings.Contains(failures[0].Error(), "is not a regular file") {
		t.Errorf("a folder with a pipe: got %v, errors %v; want an error for the pipe", declared, failures)
	}
	go func() {
		if err := os.WriteFile(pipe, []byte("apiVersion: v1\nkind: ConfigMap\n"), 0); err != nil {
			t.Error(err)
		}
	}()
	if declared, failures := Read([]string{pipe}, nil); len(declared) != 1 || len(failures) > 0 {
		t.Errorf("a pipe: got %v, errors %v; want one object", declared, failures)
	}
}
