package server_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/store/log"
	"github.com/bowline-dev/bowline/store/log/memory"
	"github.com/bowline-dev/bowline/store/storetest"
)

// TestFullDiskIsSaid: the write that finds no room is told so, as an error that is worth a new try; nothing of it is there,
// and everybody goes on reading.
func TestFullDiskIsSaid(t *testing.T) {
	t.Parallel()
	disk := &storetest.Faults{Log: memory.New()}
	w := start(t, func(o *bowline.Options) { o.Storage = disk })
	w.fill(t, "default", "before")
	for name, write := range map[string]func() reply{
		"create": func() reply { return w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"new"}}`) },
		"patch": func() reply {
			return w.send(t, http.MethodPatch, configMaps+"/before", `{"data":{"k":"v"}}`, "Content-Type", mergeType)
		},
		"delete": func() reply { return w.send(t, http.MethodDelete, configMaps+"/before", "") },
	} {
		disk.Fail(&log.FullError{Medium: "/data", Err: syscall.ENOSPC})
		r := write()
		r.refused(t, http.StatusInsufficientStorage, metav1.StatusReasonInternalError, "there is no room left for /data: no space left on device")
		if after := r.header.Get("Retry-After"); after != "1" {
			t.Errorf("%s: Retry-After is %q", name, after)
		}
		if shown := w.get(t, configMaps+"/before").want(t, http.StatusOK).object(t); shown["data"] != nil {
			t.Errorf("%s: the object is now %v", name, shown)
		}
		w.get(t, configMaps+"/new").want(t, http.StatusNotFound)
	}
	w.fill(t, "default", "new")
}

// TestClientOutwaitsFullDisk: client-go, as it comes, tries again when it is told to, and its caller sees no error.
func TestClientOutwaitsFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk := &storetest.Faults{Log: memory.New()}
		w := start(t, func(o *bowline.Options) { o.Storage = disk })
		disk.Fail(&log.FullError{Medium: "/data", Err: syscall.ENOSPC})
		begun := time.Now()
		made, err := w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": strings.Repeat("v", 100)},
		}, metav1.CreateOptions{})
		if err != nil || len(made.Data["k"]) != 100 {
			t.Fatalf("the create ended with %v", err)
		}
		if waited := time.Since(begun); waited != time.Second {
			t.Errorf("the client waited %s", waited)
		}
	})
}
