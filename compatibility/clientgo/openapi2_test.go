package clientgo

import (
	"slices"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

func TestOpenAPIV2ClientReadsOneDocumentOfAllGroups(t *testing.T) {
	t.Parallel()
	client, define := discoveryClient(t)
	define()
	v2 := plane.Must(client.OpenAPISchema())(t)
	for _, path := range []string{"/api/v1/namespaces/{namespace}/pods/{name}",
		"/apis/example.com/v1/namespaces/{namespace}/widgets"} {
		if !slices.ContainsFunc(v2.GetPaths().GetPath(), func(p *openapi_v2.NamedPathItem) bool {
			return p.GetName() == path
		}) {
			t.Errorf("OpenAPI v2: got no path %s", path)
		}
	}
}
