package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// A definition is served even if its client disconnects during the commit.
func TestDefinitionIsServedAfterDisconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk := &storetest.Faults{Log: memory.New()}
		w := start(t, func(o *bowline.Options) { o.Storage = disk })
		body := must(json.Marshal(widgets()))(t)
		ctx, leave := context.WithCancel(t.Context())
		release := disk.Hold()
		left := make(chan error)
		go func() {
			_, err := w.try(ctx, http.MethodPost, definitionsPath, bytes.NewReader(body))
			left <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; err == nil {
			t.Error("the client got an answer, want an error")
		}
		release()
		synctest.Wait()
		w.get(t, widgetsPath).want(t, http.StatusOK)
	})
}

// The client disconnects; the request continues.
func TestDefinitionCreateReturnsAtClientTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		waits := []byte(`"metadata":{"initializers":{"pending":[{"name":"nobody.example.com"}]},`)
		body := bytes.Replace(must(json.Marshal(widgets()))(t), []byte(`"metadata":{`), waits, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		startTime := time.Now()
		_, err := w.try(ctx, http.MethodPost, definitionsPath, bytes.NewReader(body))
		if took := time.Since(startTime); err == nil || took != time.Second {
			t.Errorf("the request returned %[2]v after %[1]s, want an error after 1 s", took, err)
		}
	})
}
