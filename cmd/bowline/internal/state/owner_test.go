package state_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
)

// nobody is the ID of another user.
const nobody = 65534

// giveAway makes another user the owner of a file. It skips the test if that is not permitted.
func giveAway(t *testing.T, path string) {
	t.Helper()
	if err := os.Lchown(path, nobody, nobody); err != nil {
		t.Skipf("only root may give files to another user: %v", err)
	}
}

// usedFolder returns a state folder with the given files, as a server leaves it.
func usedFolder(t *testing.T) state.Folder {
	t.Helper()
	folder := state.Folder(filepath.Join(t.TempDir(), "plane"))
	lock, err := folder.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plane-id", "pki/ca.pem", "objects/CURRENT"} {
		path := filepath.Join(string(folder), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestFolderOfAnotherUserIsRefused checks that a state folder with any part of another user is neither served
// nor read.
func TestFolderOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".", "lock", "plane-id", "pki", "pki/ca.pem", "objects", "objects/CURRENT"} {
		folder := usedFolder(t)
		path := filepath.Join(string(folder), name)
		giveAway(t, path)
		_, lockErr := folder.Lock()
		_, shareErr := folder.Share()
		for use, err := range map[string]error{"Lock": lockErr, "Share": shareErr} {
			var owner *state.OwnerError
			if !errors.As(err, &owner) || owner.Path != path || owner.Owner != nobody {
				t.Errorf("%s is another user's: %s: got error %v, want an OwnerError of it", name, use, err)
				continue
			}
			for _, want := range []string{path, "uid 65534", "chown", "--data"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got error %q, want one with %q", err, want)
				}
			}
		}
	}
}

// TestLinkOfAnotherUserIsRefused checks that a link's own owner matters, and that of its target.
func TestLinkOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	for _, theirs := range []string{"link", "target"} {
		folder, target := usedFolder(t), filepath.Join(t.TempDir(), "target")
		link := filepath.Join(folder.Certificates(), "server.pem")
		if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Symlink(target, link)); err != nil {
			t.Fatal(err)
		}
		giveAway(t, map[string]string{"link": link, "target": target}[theirs])
		var owner *state.OwnerError
		if _, err := folder.Lock(); !errors.As(err, &owner) || owner.Path != link {
			t.Errorf("another user's %s: got error %v, want an OwnerError", theirs, err)
		}
	}
}

func TestLockFileOfAnotherUserIsNotFollowed(t *testing.T) {
	t.Parallel()
	folder := usedFolder(t)
	lock, err := folder.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := lock.Announce(state.Holder{PID: 1, Kubeconfig: "/tmp/evil"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lock", "."} {
		giveAway(t, filepath.Join(string(folder), name))
		var owner *state.OwnerError
		if holder, ok, err := folder.Running(); ok || !errors.As(err, &owner) {
			t.Errorf("got %+v, %t, error %v; want an OwnerError", holder, ok, err)
		}
		if err := os.Chown(filepath.Join(string(folder), name), os.Geteuid(), -1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAccessOfOthersIsTaken checks the modes after a start in folders that were open to all users.
func TestAccessOfOthersIsTaken(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	own := state.Folder(filepath.Join(home, "bowline"))
	named := state.Folder(filepath.Join(home, "named"))
	for folder, want := range map[state.Folder]fs.FileMode{own: 0o700, named: 0o755} {
		paths := []string{string(folder), folder.Certificates(), folder.Objects(), folder.Restoring()}
		for _, path := range paths {
			if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o777)); err != nil {
				t.Fatal(err)
			}
		}
		lock, err := folder.Lock()
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
		var got []fs.FileMode
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, info.Mode().Perm())
		}
		if want := []fs.FileMode{want, 0o700, 0o700, 0o700}; !slices.Equal(got, want) {
			t.Errorf("%s: got modes %v, want %v", folder, got, want)
		}
	}
}

func TestSharedFolderIsRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	_, err := state.Folder(folder).Lock()
	if err == nil || !strings.Contains(err.Error(), "users share the folder "+folder) {
		t.Errorf("got error %v, want one that users share the folder", err)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("got mode %v, error %v; want it unchanged", info.Mode(), err)
	}
}
