package httpapi

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestTimeoutParameterShortensTheDeadline(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	for query, want := range map[string]time.Duration{
		"":                      limit,
		"?timeout=":             limit,
		"?timeout=10s":          10 * time.Second,
		"?time%6Fut=10s":        10 * time.Second, // the escaped name is the same name
		"?pretty=1&timeout=10s": 10 * time.Second,
		"?timeout=1h":           limit,
		"?timeout=0s":           limit,
		"?timeout=-1s":          limit,
	} {
		synctest.Test(t, func(t *testing.T) {
			h := New(Options{Timeout: limit})
			ctx, cancel, err := h.withDeadline(t.Context(), httptest.NewRequest("GET", "/api/v1/pods"+query, nil))
			if err != nil {
				t.Fatalf("%q: %v", query, err)
			}
			defer cancel()
			if deadline, _ := ctx.Deadline(); time.Until(deadline) != want {
				t.Errorf("%q: the deadline is in %s, want %s", query, time.Until(deadline), want)
			}
		})
	}
	h := New(Options{Timeout: limit})
	if _, _, err := h.withDeadline(t.Context(), httptest.NewRequest("GET", "/api/v1/pods?timeout=soon", nil)); err == nil {
		t.Error("timeout=soon was accepted")
	}
}
