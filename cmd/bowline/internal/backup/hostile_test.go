package backup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/printable"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/backup"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// evil is a name that clears the screen, forges a line and reverses the text after it.
const evil = "a\x1b[2J\u009b2J\r\nChecked 1 objects: no problems.\u202e"

// hostileBackup writes a backup whose texts would change the screen of a terminal, and returns its path.
func hostileBackup(t *testing.T) string {
	t.Helper()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Commit(t.Context(), storetest.Put(storetest.Key(evil), "v", store.Anything())); err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Snapshot(t.Context(), store.Latest())
	if err != nil {
		t.Fatal(err)
	}
	head := backup.HeadOf(s, snapshot, "v0")
	head.Plane, head.Damaged = evil, []object.Key{storetest.Key(evil + "damaged")}
	path := filepath.Join(t.TempDir(), "plane.backup")
	var content bytes.Buffer
	if err := backup.Write(t.Context(), &content, snapshot, head); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHostileBackupIsPrintedSafely checks that names in a backup cannot change the terminal on which the
// backup is checked or restored.
func TestHostileBackupIsPrintedSafely(t *testing.T) {
	t.Parallel()
	path := hostileBackup(t)
	for name, run := range map[string]struct {
		command *cobra.Command
		args    []string
	}{
		"verify":      {VerifyCommand(), []string{path}},
		"verify json": {VerifyCommand(), []string{"-o", "json", path}},
		"restore":     {RestoreCommand(), []string{"--accept-damage", "--data", t.TempDir(), path}},
	} {
		var out strings.Builder
		run.command.SetArgs(run.args)
		run.command.SetOut(&out)
		if err := run.command.Execute(); err != nil && !errors.Is(err, cli.ErrFound) {
			fmt.Fprintln(&out, err)
		}
		if got := out.String(); printable.Lines(got) != got || !strings.Contains(got, "2J") {
			t.Errorf("%s: got %q, want the names with control characters escaped", name, got)
		}
		if strings.Contains(out.String(), "\nChecked 1 objects: no problems.") {
			t.Errorf("%s: got %q, want no forged line", name, out.String())
		}
	}
}
