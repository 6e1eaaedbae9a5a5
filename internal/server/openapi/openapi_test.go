package openapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clientdiscovery "k8s.io/client-go/discovery"
	clientopenapi "k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/openapi"
)

// serve starts a server for a registry and connects a client to it.
func serve(t *testing.T, registry *kind.Registry) (client clientopenapi.Client, url string) {
	t.Helper()
	h := openapi.New(registry, "v1.37.2", nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.Serve(w, r) {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return clientdiscovery.NewDiscoveryClientForConfigOrDie(&rest.Config{Host: server.URL}).OpenAPIV3(), server.URL
}

func specOf(t *testing.T, client clientopenapi.Client, gv schema.GroupVersion) *spec3.OpenAPI {
	t.Helper()
	doc, err := openapi3.NewRoot(client).GVSpec(gv)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSchemasMergeListsByKey(t *testing.T) {
	t.Parallel()
	client, _ := serve(t, kind.NewRegistry(builtinKinds()...))
	schemas := specOf(t, client, corev1.SchemeGroupVersion).Components.Schemas
	pod := strategicpatch.PatchMetaFromOpenAPIV3{Schema: schemas["io.k8s.api.core.v1.Pod"], SchemaList: schemas}
	original := []byte(`{"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}}`)
	patched, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(
		original, []byte(`{"spec":{"containers":[{"name":"b","image":"z"}]}}`), pod)
	if err != nil {
		t.Fatal(err)
	}
	var got corev1.Pod
	if err := json.Unmarshal(patched, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Spec.Containers) != 2 || got.Spec.Containers[0].Image != "x" || got.Spec.Containers[1].Image != "z" {
		t.Errorf("merged to %s", patched)
	}
	containers := schemas["io.k8s.api.core.v1.PodSpec"].Properties["containers"]
	if containers.Extensions["x-kubernetes-list-type"] != "map" {
		t.Errorf("containers: %v", containers.Extensions)
	}
}

func TestPatchContentTypes(t *testing.T) {
	t.Parallel()
	client, _ := serve(t, kind.NewRegistry(append(builtinKinds(), newCustomKind("example.com", nil))...))
	strategic := func(gv schema.GroupVersion, path string) bool {
		_, ok := specOf(t, client,
			gv).Paths.Paths[path].Patch.RequestBody.Content["application/strategic-merge-patch+json"]
		return ok
	}
	if !strategic(corev1.SchemeGroupVersion, "/api/v1/namespaces/{namespace}/pods/{name}") {
		t.Error("pods do not accept a strategic merge patch")
	}
	if strategic(schema.GroupVersion{Group: "example.com", Version: "v1"},
		"/apis/example.com/v1/namespaces/{namespace}/networks/{name}") {
		t.Error("custom resources accept a strategic merge patch")
	}
}

func TestReferencesResolveAndIDsAreUnique(t *testing.T) {
	t.Parallel()
	client, _ := serve(t, kind.NewRegistry(append(builtinKinds(), newCustomKind("example.com", networkSchema))...))
	paths, err := client.Paths()
	if err != nil {
		t.Fatal(err)
	}
	// Five group-versions; three groups of built-in kinds; /apis and /version.
	if len(paths) != 10 {
		t.Errorf("%d documents, want 10: %v", len(paths), slices.Sorted(maps.Keys(paths)))
	}
	for path, gv := range paths {
		data, err := gv.Schema(runtime.ContentTypeJSON)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var doc struct {
			Components struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		for _, ref := range strings.Split(string(data), `"$ref":"#/components/schemas/`)[1:] {
			name, _, _ := strings.Cut(ref, `"`)
			if doc.Components.Schemas[name] == nil {
				t.Errorf("%s: the schema %s does not exist", path, name)
			}
		}
		seen := map[string]bool{}
		for _, id := range strings.Split(string(data), `"operationId":"`)[1:] {
			id, _, _ = strings.Cut(id, `"`)
			if seen[id] {
				t.Errorf("%s: two operations have the ID %s", path, id)
			}
			seen[id] = true
		}
	}
}

func TestProtobufHasSameSchemas(t *testing.T) {
	t.Parallel()
	client, _ := serve(t, kind.NewRegistry(builtinKinds()...))
	paths, err := client.Paths()
	if err != nil {
		t.Fatal(err)
	}
	data, err := paths["apis/apps/v1"].Schema(clientopenapi.ContentTypeOpenAPIV3PB)
	if err != nil {
		t.Fatal(err)
	}
	var doc openapi_v3.Document
	if err := proto.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	text := specOf(t, client, appsv1.SchemeGroupVersion)
	if got := len(doc.GetComponents().GetSchemas().GetAdditionalProperties()); got != len(text.Components.Schemas) {
		t.Errorf("%d schemas, want %d", got, len(text.Components.Schemas))
	}
}

func TestOnlyChangedDocumentsGetNewURLs(t *testing.T) {
	t.Parallel()
	registry := kind.NewRegistry(builtinKinds()...)
	client, url := serve(t, registry)
	location := func(path string) string {
		paths, err := client.Paths()
		if err != nil {
			t.Fatal(err)
		}
		if paths[path] == nil {
			return ""
		}
		return paths[path].ServerRelativeURL()
	}
	core := location("api/v1")
	registry.Put(newCustomKind("example.com", nil))
	if got := location("api/v1"); got != core {
		t.Errorf("core/v1 moved from %s to %s", core, got)
	}
	before := location("apis/example.com/v1")
	registry.Put(newCustomKind("example.com", networkSchema))
	after := location("apis/example.com/v1")
	if before == "" || before == after {
		t.Errorf("the document of a changed schema has the same location %q", before)
	}
	resp, err := http.Get(url + before)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	if resp.Request.URL.RequestURI() != after || !strings.Contains(body.String(), "The range in CIDR notation.") {
		t.Errorf("the old location redirects to %s", resp.Request.URL)
	}
	registry.Remove(schema.GroupResource{Group: "example.com", Resource: "networks"})
	if got := location("apis/example.com/v1"); got != "" {
		t.Errorf("after the removal the document is at %s", got)
	}
}

func TestDocumentNotModified(t *testing.T) {
	t.Parallel()
	h := openapi.New(kind.NewRegistry(builtinKinds()...), "v1.37.2", nil)
	for _, path := range []string{"/openapi/v3", "/openapi/v3/api/v1"} {
		first := httptest.NewRecorder()
		h.Serve(first, httptest.NewRequest(http.MethodGet, path, nil))
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("If-None-Match", first.Header().Get("ETag"))
		second := httptest.NewRecorder()
		h.Serve(second, r)
		if first.Code != http.StatusOK || second.Code != http.StatusNotModified {
			t.Errorf("%s: %d, then %d", path, first.Code, second.Code)
		}
	}
}

func TestOtherPathsAreNotServed(t *testing.T) {
	t.Parallel()
	h := openapi.New(kind.NewRegistry(builtinKinds()...), "v1.37.2", nil)
	for _, path := range []string{"/openapi/v1", "/openapi", "/openapi/v3/apis/none.example.com/v1",
		"/openapi/v3api/v1"} {
		if h.Serve(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)) {
			t.Errorf("%s was answered", path)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/openapi/v3/api/v1", nil)
	r.Header.Set("Accept", "text/html")
	if h.Serve(w, r); w.Code != http.StatusNotAcceptable {
		t.Errorf("as text/html: %d", w.Code)
	}
}

func parseJSON(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func unmarshalV2(t *testing.T, data []byte) *openapi_v2.Document {
	t.Helper()
	doc := &openapi_v2.Document{}
	if err := proto.Unmarshal(data, doc); err != nil {
		t.Fatal(err)
	}
	return doc
}
