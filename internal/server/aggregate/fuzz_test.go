package aggregate

import (
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/server/discovery"
)

// FuzzAnswers checks that what a server sends about itself cannot name documents of others, nor list a resource twice.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"groupVersion":"a.b/v1","resources":[{"name":"c","kind":"C"},{"name":"c/status"},{"name":"d/scale"},{"name":"/"}]}`)
	f.Add(`{"paths":{"apis/a.b/v1":{"serverRelativeURL":"/openapi/v3/apis/a.b/v1?hash=A"}}}`)
	f.Add(`{"paths":{"apis/a.b/v1":{"serverRelativeURL":"//host/openapi/v3/apis/a.b/v1"}}}`)
	f.Add(`{"paths":{"apis/a.b/v1":{"serverRelativeURL":"/openapi/v3/apis/a.b/v1/../../../api/v1"}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		list := readResources([]byte(body))
		resources, err := discovery.Resources(list)
		if err == nil && len(resources) > len(list.APIResources) {
			t.Errorf("%d resources of %d", len(resources), len(list.APIResources))
		}
		const path = "apis/a.b/v1"
		if d := readIndex([]byte(body), path); d != nil && (d.Path != path || !strings.HasPrefix(d.URL, "/") ||
			strings.HasPrefix(d.URL, "//")) {
			t.Errorf("document %+v", d)
		}
	})
}
