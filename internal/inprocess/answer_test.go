package inprocess_test

import (
	"context"
	"io"
	"net/http"
	"testing"
)

// An answer's header is the caller's, who may change it while the handler still writes.
func TestResponseHeaderBelongsToCaller(t *testing.T) {
	t.Parallel()
	changed := make(chan struct{})
	c, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		w.WriteHeader(http.StatusOK)
		<-changed
		io.WriteString(w, "hello")
	})
	resp, err := get(t, c, context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	resp.Header.Set("Content-Length", "100")
	close(changed)
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello" || resp.ContentLength != 5 {
		t.Errorf("a body of length %d, %q: %v", resp.ContentLength, body, err)
	}
}
