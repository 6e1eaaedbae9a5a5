package state_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
)

func TestSecondLockReportsHolder(t *testing.T) {
	t.Parallel()
	folder := state.Folder(filepath.Join(t.TempDir(), "a", "b"))
	lock, err := folder.Lock()
	if err != nil {
		t.Fatal(err)
	}
	holder := state.Holder{PID: os.Getpid(), Address: "https://127.0.0.1:6443", Kubeconfig: "/k"}
	if err := lock.Announce(holder); err != nil {
		t.Fatal(err)
	}
	_, err = folder.Lock()
	var held *state.HeldError
	if !errors.As(err, &held) || held.Holder != holder || !strings.Contains(err.Error(), "https://127.0.0.1:6443") {
		t.Errorf("second lock: got error %v, want one that names the holder", err)
	}
	if got, ok, err := folder.Running(); got != holder || !ok || err != nil {
		t.Errorf("while locked: got %+v, %t, error %v; want %+v", got, ok, err, holder)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := folder.Running(); ok || err != nil {
		t.Errorf("after release: got %+v, %t, error %v; want no server", got, ok, err)
	}
	second, err := folder.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestEndedServerIsNotReportedAsHolder checks that the error of a lock held by a reader does not name the last
// server.
func TestEndedServerIsNotReportedAsHolder(t *testing.T) {
	t.Parallel()
	folder := state.Folder(t.TempDir())
	const killed = `{"pid":4711,"address":"https://127.0.0.1:6443"}`
	if err := os.WriteFile(filepath.Join(string(folder), "lock"), []byte(killed), 0o600); err != nil {
		t.Fatal(err)
	}
	reading, err := folder.Share()
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	var held *state.HeldError
	if _, err := folder.Lock(); !errors.As(err, &held) || strings.Contains(err.Error(), "4711") {
		t.Errorf("got error %v, want one that does not name process 4711", err)
	}
}

// TestLockPreservesForeignFile checks that Lock does not overwrite a file of another program, directly or
// through a link.
func TestLockPreservesForeignFile(t *testing.T) {
	t.Parallel()
	theirs := filepath.Join(t.TempDir(), "theirs")
	if err := os.WriteFile(theirs, []byte("somebody's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]func(oldname, newname string) error{"link": os.Symlink, "file": os.Link} {
		folder := t.TempDir()
		if err := place(theirs, filepath.Join(folder, "lock")); err != nil {
			t.Fatal(err)
		}
		lock, err := state.Folder(folder).Lock()
		if err == nil {
			lock.Release()
		}
		if err == nil || !strings.Contains(err.Error(),
			folder+"/lock is a link or belongs to another program, and was not changed") {
			t.Errorf("%s: got error %v, want one that the file was not changed", name, err)
		}
		if text, err := os.ReadFile(theirs); string(text) != "somebody's\n" {
			t.Errorf("%s: got content %q (%v), want it unchanged", name, text, err)
		}
	}
}

func TestMissingFolderHasNoServer(t *testing.T) {
	t.Parallel()
	if _, ok, err := state.Folder(t.TempDir()).Running(); ok || err != nil {
		t.Errorf("got %t, error %v; want no server and no error", ok, err)
	}
}

func TestPlaneIdentityIsStored(t *testing.T) {
	t.Parallel()
	folder := state.Folder(t.TempDir())
	if id, err := folder.PlaneID(); id != "" || err != nil {
		t.Errorf("new folder: got identity %q, error %v; want none", id, err)
	}
	if err := folder.WritePlaneID("one"); err != nil {
		t.Fatal(err)
	}
	if id, err := folder.PlaneID(); id != "one" || err != nil {
		t.Errorf("got identity %q, error %v; want \"one\"", id, err)
	}
	if err := folder.CheckPlaneID("one"); err != nil {
		t.Error(err)
	}
	if err := folder.CheckPlaneID("two"); err == nil {
		t.Error("other plane: got no error, want one")
	}
	for _, content := range []string{"", "../../etc", "..", "a\x1b[2J", "a/b", strings.Repeat("a", 1000)} {
		if err := os.WriteFile(folder.Identity(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if id, err := folder.PlaneID(); err == nil || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("identity file with %.20q: got identity %q, error %q; want a printable error", content, id, err)
		}
	}
}

var access = state.Access{Server: "https://127.0.0.1:1", Authority: []byte("ca"), Certificate: []byte("c"),
	Key: []byte("k")}

func TestForeignKubeconfigIsNotReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "kubeconfig")
	for range 2 {
		if err := state.WriteKubeconfig(path, access); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the kubeconfig: got %v, error %v; want 0600", info, err)
	}
	for _, text := range []string{"", "not a kubeconfig: [", "apiVersion: v1\nkind: Config\nclusters: []\n",
		"apiVersion: v1\nkind: Config\nclusters:\n- {name: bowline, cluster: {server: x}}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var foreign *state.ForeignError
		if err := state.WriteKubeconfig(path, access); !errors.As(err, &foreign) {
			t.Errorf("write over %q: got error %v, want a ForeignError", text, err)
		}
		if err := state.RemoveKubeconfig(path); !errors.As(err, &foreign) {
			t.Errorf("remove %q: got error %v, want a ForeignError", text, err)
		}
		if now, err := os.ReadFile(path); string(now) != text || err != nil {
			t.Errorf("got content %q (%v), want %q", now, err, text)
		}
	}
}

func TestKubeconfigEditedByKubectlIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := state.WriteKubeconfig(path, access); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts["bowline"].Namespace = "other"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	if err := state.RemoveKubeconfig(path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("kubeconfig after RemoveKubeconfig: got error %v, want that it does not exist", err)
	}
	if err := state.RemoveKubeconfig(path); err != nil {
		t.Errorf("remove a missing kubeconfig: %v", err)
	}
}

func TestDefaultFolderFollowsTheEnvironment(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/x")
	if folder, err := state.Default(); folder != "/x/bowline" || err != nil {
		t.Errorf("XDG_STATE_HOME is set: got %q, error %v; want /x/bowline", folder, err)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "/h")
	if folder, err := state.Default(); folder != "/h/.local/state/bowline" || err != nil {
		t.Errorf("only HOME is set: got %q, error %v; want /h/.local/state/bowline", folder, err)
	}
}

// TestIrregularKubeconfigIsRefused checks that pipes, devices, folders, sockets and large files are refused at
// once: a pipe without a writer would block, and /dev/zero never ends.
func TestIrregularKubeconfigIsRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	pipe, socket := filepath.Join(folder, "pipe"), filepath.Join(folder, "socket")
	link, large := filepath.Join(folder, "link"), filepath.Join(folder, "large")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(pipe, link), os.WriteFile(large, nil, 0o600),
		os.Truncate(large, 1<<30)); err != nil {
		t.Fatal(err)
	}
	for path, irregular := range map[string]bool{pipe: true, socket: true, link: true, large: false, folder: true,
		"/dev/zero": true, "/dev/full": true} {
		want := state.ForeignError{Path: path, Irregular: irregular}
		for name, err := range map[string]error{"write": state.WriteKubeconfig(path, access),
			"remove": state.RemoveKubeconfig(path)} {
			var foreign *state.ForeignError
			if !errors.As(err, &foreign) || *foreign != want || !strings.Contains(err.Error(), path) {
				t.Errorf("%s %s: got error %v, want a ForeignError", name, path, err)
			}
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s after the refusal: %v", path, err)
		}
	}
}
