package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/store/log/memory"
	"github.com/bowline-dev/bowline/store/storetest"
)

// TestADefinitionIsServedAlthoughItsClientHasGone while it was committed.
func TestADefinitionIsServedAlthoughItsClientHasGone(t *testing.T) {
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
			t.Error("the client had an answer")
		}
		release()
		synctest.Wait()
		w.get(t, widgetsPath).want(t, http.StatusOK)
	})
}
