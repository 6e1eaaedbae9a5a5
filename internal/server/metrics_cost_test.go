package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// BenchmarkTelling measures the cost of metrics per request.
func BenchmarkTelling(b *testing.B) {
	s := &Server{kinds: kind.NewRegistry(builtin.Kinds(object.NewCache(0))...), metrics: newMetrics()}
	r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default/configmaps/a", nil)
	x := &exchange{route: parseRoute(r), begun: time.Now(), code: http.StatusOK}
	b.ReportAllocs()
	for b.Loop() {
		s.metrics.begin(x)()
		s.metrics.request(s.labels(x, r), x, time.Millisecond)
	}
}
