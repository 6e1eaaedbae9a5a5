package metrics

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/version"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// BenchmarkRequest measures the cost of metrics per request.
func BenchmarkRequest(b *testing.B) {
	m := New(kind.NewRegistry(builtin.Kinds(object.NewCache(0))...), version.Info{})
	r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default/configmaps/a", nil)
	route := request.ParseRoute(r)
	b.ReportAllocs()
	for b.Loop() {
		m.Begin(&route)()
		m.Request(&route, r, http.StatusOK, 100, time.Millisecond)
	}
}
