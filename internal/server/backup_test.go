package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

const backupPath = "/bowline/backup"

// backedUp is the content of a backup: its head, and the values of the tests' config maps, by name.
func backedUp(t *testing.T, stream io.Reader) (backup.Head, map[string]object.Revision) {
	t.Helper()
	r, err := backup.Open(stream)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]object.Revision{}
	for o, err := range r.Objects() {
		if err != nil {
			t.Fatal(err)
		}
		objects[string(o.Key)] = o.Revision
	}
	return r.Head(), objects
}

func TestBackupContainsOneRevision(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	w.createConfigMaps(t, "default", "a", "b")
	answer := w.get(t, backupPath)
	head, objects := backedUp(t, bytes.NewReader(answer.body))
	if _, ok := objects["/configmaps/default/b"]; !ok || head.Objects != len(objects) {
		t.Errorf("the head counts %d objects, and the backup contains %v", head.Objects, objects)
	}
	namespace, err := w.clients.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil || head.Plane != string(namespace.UID) {
		t.Errorf("the UID of the plane is %s, that in the backup %s", namespace.UID, head.Plane)
	}
	list, err := w.clients.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	if err != nil || head.Revision.String() != list.ResourceVersion || time.Since(head.Time) > time.Minute {
		t.Errorf("the list has revision %s, and the backup %s of %s", list.ResourceVersion, head.Revision, head.Time)
	}
}

// Two objects are written in turn, each with the number of its writes. No backup contains a newer second
// object than first.
func TestBackupDuringWritesIsConsistent(t *testing.T) {
	t.Parallel()
	w := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	written := make(chan struct{}, 1)
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			for _, name := range []string{"first", "second"} {
				body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"n":"%06d"}}`,
					name, n)
				code, err := applying(ctx, w, configMaps+"/"+name, body)
				if ctx.Err() == nil && (err != nil || code >= 300) {
					done <- fmt.Errorf("applying %s: %d, %w", name, code, err)
					return
				}
			}
			select {
			case written <- struct{}{}:
			default:
			}
		}
		done <- nil
	}()
	for range 20 {
		select {
		case <-written:
		case err := <-done:
			t.Fatal(err)
		}
		r, err := backup.Open(bytes.NewReader(w.get(t, backupPath).body))
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		for o, err := range r.Objects() {
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := bytes.Cut(o.Stored().Bytes(), []byte(`"n":"`))
			values[o.Key.Name()] = string(rest[:min(len(rest), 6)])
		}
		if values["first"] == "" || values["second"] > values["first"] {
			t.Fatalf("the backup has write %s of the first object, and later write %s of the second", values["first"],
				values["second"])
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// applying sends a server-side apply, from any goroutine.
func applying(ctx context.Context, w *testPlane, path, body string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPatch, w.host+path+"?fieldManager=test",
		strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", applyType)
	answer, err := w.wire.Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, errors.Join(err, answer.Body.Close())
}

func TestBackupNeedsAdministrator(t *testing.T) {
	t.Parallel()
	admin := startTLS(t)
	somebody := admin.as(t, must(admin.IssueClient("somebody", "a-group"))(t))
	somebody.send(t, http.MethodGet, backupPath, "").wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
		`User "somebody" cannot get path "/bowline/backup"`)
	admin.send(t, http.MethodPost, backupPath, "").wantError(t, http.StatusMethodNotAllowed,
		metav1.StatusReasonMethodNotAllowed, "")
}

// createLarge creates more than fits into the buffers between a server and a client that does not read.
func createLarge(t *testing.T, w *testPlane) {
	t.Helper()
	for i := range 20 {
		w.send(t, http.MethodPost, configMaps, fmt.Sprintf(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d"},"data":{"big":%q}}`, i,
			strings.Repeat("x", 100_000)), "Content-Type", jsonType)
	}
}

// A backup may take longer than the request timeout, and contains the state of its start.
func TestBackupOutlastsRequestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		createLarge(t, w)
		answer, err := w.wire.Get(w.host + backupPath)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		w.send(t, http.MethodDelete, configMaps+"/c19", "")
		time.Sleep(5 * time.Minute)
		if _, objects := backedUp(t, answer.Body); objects["/configmaps/default/c19"] == 0 {
			t.Error("the backup lacks an object that was deleted after it began")
		}
	})
}

// Backups are aborted when the server closes, and their readers get an error.
func TestCloseAbortsBackups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		createLarge(t, w)
		answer, err := w.wire.Get(w.host + backupPath)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		r, err := backup.Open(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range r.Objects() {
			last = err
		}
		if last == nil {
			t.Error("reading an aborted backup returned no error")
		}
	})
}
