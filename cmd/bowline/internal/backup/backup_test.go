package backup

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/backup"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// newBackup returns a backup with the given number of objects.
func newBackup(t *testing.T, objects int) []byte {
	t.Helper()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range objects {
		if _, err := s.Commit(t.Context(),
			storetest.Put(storetest.Key(fmt.Sprintf("%06d", i)), "v", store.Anything())); err != nil {
			t.Fatal(err)
		}
	}
	snapshot, err := s.Snapshot(t.Context(), store.Latest())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := backup.Write(t.Context(), &out, snapshot, backup.HeadOf(s, snapshot, "v0")); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// startServer starts a server with the given handler, and returns a folder with a kubeconfig for it.
func startServer(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	folder := t.TempDir()
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server.URL)
	if err := os.WriteFile(filepath.Join(folder, "kubeconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// command runs bowline backup and returns its error.
func command(args ...string) error {
	root := Command()
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	return root.Execute()
}

func TestInterruptedBackupLeavesNoFile(t *testing.T) {
	t.Parallel()
	whole := newBackup(t, 1000)
	for what, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"the connection closes": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(whole[:len(whole)/2])
			panic(http.ErrAbortHandler)
		}, "no backup was created: "},
		"the response is truncated": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(whole[:len(whole)/2])
		}, "no backup was created: the backup is cut short"},
		"a bit flips in transit": {func(w http.ResponseWriter, _ *http.Request) {
			damaged := bytes.Clone(whole)
			damaged[len(damaged)/2] ^= 1
			_, _ = w.Write(damaged)
		}, "is damaged"},
		"another server": {http.NotFound, "does not serve /bowline/backup: it is not bowline, or an older version"},
		"it answers with a page": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "<html>")
		}, "with an HTML page"},
		"it fails": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the roof is leaking"}`)
		}, "rejected the request: the roof is leaking"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			folder := startServer(t, test.answer)
			err := command("--kubeconfig", filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "plane.backup"))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %s", err, test.want)
			}
			if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
				t.Errorf("got files %v, error %v; want only the kubeconfig", entries, err)
			}
		})
	}
}

func TestOnlyCompleteBackupReplacesFile(t *testing.T) {
	t.Parallel()
	whole := newBackup(t, 10)
	cut := true
	folder := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
		if cut {
			_, _ = w.Write(whole[:len(whole)/2])
			return
		}
		_, _ = w.Write(whole)
	})
	path := filepath.Join(folder, "plane.backup")
	if err := os.WriteFile(path, []byte("the last one"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--force", "--kubeconfig", filepath.Join(folder, "kubeconfig"), path}
	if err := command(args...); err == nil {
		t.Error("truncated backup: got no error, want one")
	}
	if text, err := os.ReadFile(path); string(text) != "the last one" {
		t.Errorf("after a failed backup: got file %q, error %v; want it unchanged", text, err)
	}
	cut = false
	if err := command(args...); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); !bytes.Equal(text, whole) {
		t.Errorf("got a file of %d bytes, error %v; want the backup of %d bytes", len(text), err, len(whole))
	}
}
