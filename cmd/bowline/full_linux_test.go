package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
)

// smallDisk mounts a file system of the given size in MiB. It skips the test if that is not permitted.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	folder := t.TempDir()
	if err := unix.Mount("bowline-test", folder, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		t.Skipf("cannot mount a small file system on this machine: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// TestFullDiskRejectsWritesUntilSpaceIsFree checks that on a full disk writes are rejected with the reason,
// which kubectl prints, and that reads and watches continue. When there is room, writes succeed without a
// restart. No acknowledged write is lost, even after a crash.
func TestFullDiskRejectsWritesUntilSpaceIsFree(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 128)
	folder := filepath.Join(disk, "plane")
	server := startCrashServer(t, folder, ownObjects)
	config, err := server.ready()
	if err != nil {
		t.Fatal(err)
	}
	f := &filling{T: t, config: config, reserve: filepath.Join(disk, "somebody-elses"), stored: map[string]string{}}
	f.fillDisk()
	refused := f.createUntilRejected()
	f.checkRejection(refused)
	f.checkReads()
	f.checkKubectlMessage(server.kubeconfig)

	if err := os.Remove(f.reserve); err != nil {
		t.Fatal(err)
	}
	f.checkWriteRetries()
	server.kill()

	restarted := startCrashServer(t, folder, ownObjects)
	if f.config, err = restarted.ready(); err != nil {
		t.Fatal(err)
	}
	f.checkReads()
}

// TestReadOnlyDiskIsReported checks that bowline up fails on a read-only disk with a message that names it, that
// nothing on the disk changes, and that verify and backup can read an existing store.
func TestReadOnlyDiskIsReported(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 64)
	folder := filepath.Join(disk, "plane")
	server := startCrashServer(t, folder, ownObjects)
	if _, err := server.ready(); err != nil {
		t.Fatal(err)
	}
	server.kill()
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		folder: "bowline: opening the lock file of the state folder: open " + folder +
			"/lock: read-only file system\n",
		filepath.Join(disk, "missing"): "bowline: creating the state folder: mkdir " + disk +
			"/missing: read-only file system\n",
	} {
		up := exec.Command("bowline", "up", "--listen", "127.0.0.1:0", "--data", path)
		output, err := up.CombinedOutput()
		if err == nil || up.ProcessState.ExitCode() != cli.ExitFailure || string(output) != want {
			t.Errorf("%s: got %v with output %q, want a failure with %q", path, err, output, want)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "kubeconfig")); err != nil {
		t.Errorf("kubeconfig after a failed start: %v", err)
	}
	for _, args := range [][]string{
		{"verify", "--data", folder}, {"backup", "--data", folder, filepath.Join(t.TempDir(), "backup")},
	} {
		if output, err := exec.Command("bowline", args...).CombinedOutput(); err != nil {
			t.Errorf("bowline %s: got %v with output %q, want success", args[0], err, output)
		}
	}
}

// filling is a server on a disk that fills up, and a record of the stored objects.
type filling struct {
	*testing.T
	config  *rest.Config
	reserve string // the file that fills the disk
	stored  map[string]string
}

// fillDisk fills the disk except for less than 1 MiB.
func (f *filling) fillDisk() {
	f.Helper()
	file, err := os.Create(f.reserve)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	chunk := make([]byte, 1<<20)
	for err == nil {
		_, err = file.Write(chunk)
	}
	if !errors.Is(err, unix.ENOSPC) {
		f.Fatal(err)
	}
}

// post creates a ConfigMap of 100 KiB, with a client that does not retry.
func (f *filling) post(ctx context.Context, name string) (*http.Response, error) {
	transport, err := rest.TransportFor(f.config)
	if err != nil {
		return nil, err
	}
	text := strings.Repeat(name+"\n", 100<<10/(len(name)+1))
	body := fmt.Sprintf(`{"metadata":{"name":%q},"data":{"text":%q}}`, name, text)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, f.config.Host+"/api/v1/namespaces/default/configmaps",
		strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Transport: transport}).Do(q)
	if err == nil && answer.StatusCode == http.StatusCreated {
		f.stored[name] = text
	}
	return answer, err
}

// createUntilRejected creates objects until one is rejected, and returns that response.
func (f *filling) createUntilRejected() *http.Response {
	f.Helper()
	for i := range 2_000 {
		answer, err := f.post(f.Context(), fmt.Sprintf("fill-%d", i))
		if err != nil {
			f.Fatal(err)
		}
		if answer.StatusCode != http.StatusCreated {
			f.Logf("%d objects of 100 KiB were stored before the disk was full", len(f.stored))
			return answer
		}
		answer.Body.Close()
	}
	f.Fatal("the disk does not fill up")
	return nil
}

// checkRejection checks the response to a rejected write.
func (f *filling) checkRejection(answer *http.Response) {
	f.Helper()
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.Fatal(err)
	}
	if answer.StatusCode != http.StatusInsufficientStorage || answer.Header.Get("Retry-After") != "1" ||
		!strings.Contains(string(text), "no space left on device") ||
		!strings.Contains(string(text), `"kind":"Status"`) {
		f.Errorf("write to a full disk: got %s, Retry-After %q: %s", answer.Status, answer.Header.Get("Retry-After"),
			text)
	}
}

// checkReads checks that a list and a watch from the start return all stored objects.
func (f *filling) checkReads() {
	f.Helper()
	maps, err := configMaps(f.config)
	if err != nil {
		f.Fatal(err)
	}
	list, err := maps.List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	if len(list.Items) != len(f.stored) {
		f.Errorf("got %d objects, want the %d acknowledged ones", len(list.Items), len(f.stored))
	}
	for _, o := range list.Items {
		if want := f.stored[o.Name]; want != o.Data["text"] {
			f.Errorf("%s has %d bytes, want the acknowledged %d", o.Name, len(o.Data["text"]), len(want))
		}
	}
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	send := true
	stream, err := maps.Watch(ctx, metav1.ListOptions{SendInitialEvents: &send,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true})
	if err != nil {
		f.Fatal(err)
	}
	defer stream.Stop()
	for range len(f.stored) {
		if e, open := <-stream.ResultChan(); !open || e.Type != "ADDED" {
			f.Fatalf("the watch got %v (%t)", e, open)
		}
	}
}

// checkKubectlMessage checks that kubectl, which retries for some seconds, finally prints the server's message.
func (f *filling) checkKubectlMessage(kubeconfig string) {
	f.Helper()
	output, err := exec.Command("kubectl", "--kubeconfig", kubeconfig, "create", "configmap", "kubectl",
		"--from-literal=a="+strings.Repeat("x", 100_000)).CombinedOutput()
	if err == nil || !strings.Contains(string(output), "plane/objects: no space left on device; nothing was written") ||
		!strings.Contains(string(output), "there is no room left for ") {
		f.Errorf("kubectl: got %v with output %s", err, output)
	}
}

// checkWriteRetries checks that client-go's retries make a write succeed after there is room.
func (f *filling) checkWriteRetries() {
	f.Helper()
	maps, err := configMaps(f.config)
	if err != nil {
		f.Fatal(err)
	}
	freed := time.Now()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "room"},
		Data: map[string]string{"text": "again"}}, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("%s after space was freed: %v (%v)", time.Since(freed), err, apierrors.ReasonForError(err))
	}
	f.Logf("the first write succeeded %s after space was freed", time.Since(freed).Round(time.Millisecond))
	f.stored[made.Name] = made.Data["text"]
}
