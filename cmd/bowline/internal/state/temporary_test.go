package state_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
)

// TestFoldersOfKilledServersAreRemoved checks that only temporary folders without a running server are removed.
func TestFoldersOfKilledServersAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	running, err := state.NewTemporary()
	if err != nil {
		t.Fatal(err)
	}
	folder := func(name, lock, content string) string {
		path := filepath.Join(os.TempDir(), name)
		if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "kubeconfig"), nil, 0o600),
			os.WriteFile(filepath.Join(path, lock), []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	killed := folder("bowline-ephemeral-1", "ephemeral-lock", "4711\n")
	link := filepath.Join(os.TempDir(), "bowline-ephemeral-link")
	if err := os.Symlink(folder("elsewhere", "ephemeral-lock", "4711\n"), link); err != nil {
		t.Fatal(err)
	}
	kept := []string{string(running.Folder), link, filepath.Join(link, "kubeconfig"),
		folder("bowline-ephemeral-starting", "ephemeral-lock", ""),
		folder("bowline-ephemeral-plane", "lock", "{}"), // a state folder that a user named so
		folder("bowline-plane", "ephemeral-lock", "4711\n"),
		filepath.Join(string(running.Folder), "ephemeral-lock")}
	state.RemoveLeftovers()
	if _, err := os.Stat(killed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of a killed server: got error %v, want it removed", err)
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("got error %v, want it kept", err)
		}
	}
	if err := running.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(string(running.Folder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Remove: got error %v, want the folder removed", err)
	}
}

// TestFoldersOfOtherUsersAreKept checks that nothing of another user is removed.
func TestFoldersOfOtherUsersAreKept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(os.TempDir(), "bowline-ephemeral-1")
	if err := errors.Join(os.Mkdir(path, 0o700),
		os.WriteFile(filepath.Join(path, "ephemeral-lock"), []byte("1\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	giveAway(t, path)
	state.RemoveLeftovers()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("got error %v, want the folder of another user kept", err)
	}
}
