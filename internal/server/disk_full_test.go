package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// While the disk is full or fails, writes are rejected with an error that asks for a retry; nothing of them is
// stored, and reads succeed.
func TestWriteErrorOfFullOrFailedDisk(t *testing.T) {
	t.Parallel()
	disk := &storetest.Faults{Log: memory.New()}
	w := start(t, func(o *bowline.Options) { o.Storage = disk })
	w.createConfigMaps(t, "default", "before")
	writes := map[string]func() response{
		"create": func() response { return w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"new"}}`) },
		"patch": func() response {
			return w.send(t, http.MethodPatch, configMaps+"/before", `{"data":{"k":"v"}}`, "Content-Type", mergeType)
		},
		"delete": func() response { return w.send(t, http.MethodDelete, configMaps+"/before", "") },
	}
	for _, unwritten := range []struct {
		err    error
		code   int
		reason metav1.StatusReason
		says   string
	}{
		{&log.FullError{Medium: "/data", Err: syscall.ENOSPC}, http.StatusInsufficientStorage,
			metav1.StatusReasonInternalError,
			"there is no room left for /data: no space left on device"},
		{&log.FailedError{Medium: "/data", Err: fmt.Errorf("sync /data/000007.log: %w", syscall.EIO)},
			http.StatusServiceUnavailable,
			metav1.StatusReasonServiceUnavailable,
			"/data cannot be written to, since its disk fails: input/output error; nothing was written"},
	} {
		for name, write := range writes {
			disk.Fail(unwritten.err)
			r := write()
			r.wantError(t, unwritten.code, unwritten.reason, unwritten.says)
			if after := r.header.Get("Retry-After"); after != "1" {
				t.Errorf("%s: Retry-After is %q", name, after)
			}
			if shown := w.get(t, configMaps+"/before").want(t, http.StatusOK).object(t); shown["data"] != nil {
				t.Errorf("%s: the failed write changed the object to %v", name, shown)
			}
			w.get(t, configMaps+"/new").want(t, http.StatusNotFound)
		}
	}
	w.createConfigMaps(t, "default", "new")
}

// client-go retries such a write, and its caller sees no error.
func TestClientGoRetriesWriteOnFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk := &storetest.Faults{Log: memory.New()}
		w := start(t, func(o *bowline.Options) { o.Storage = disk })
		for name, unwritten := range map[string]error{
			"full":   &log.FullError{Medium: "/data", Err: syscall.ENOSPC},
			"failed": &log.FailedError{Medium: "/data", Err: syscall.EIO},
		} {
			disk.Fail(unwritten)
			startTime := time.Now()
			made, err := w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": strings.Repeat("v", 100)},
			}, metav1.CreateOptions{})
			if err != nil || len(made.Data["k"]) != 100 {
				t.Fatalf("%s: the create ended with %v", name, err)
			}
			if waited := time.Since(startTime); waited != time.Second {
				t.Errorf("%s: the client waited %s", name, waited)
			}
		}
	})
}
