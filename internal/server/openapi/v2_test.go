package openapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	openapiproto "k8s.io/kube-openapi/pkg/util/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/openapi"
)

// getV2 requests the OpenAPI v2 document.
func getV2(h *openapi.Handler, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/openapi/v2", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.Serve(w, r)
	return w
}

// swaggerOf returns the document as decoded by the library of Kubernetes.
func swaggerOf(t *testing.T, kinds ...kind.Kind) *spec.Swagger {
	t.Helper()
	var doc spec.Swagger
	if err := json.Unmarshal(getV2(openapi.New(kind.NewRegistry(kinds...), "v1.37.2", nil)).Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	return &doc
}

// Clients can derive the schemas of server-side apply from the document.
func TestSwaggerDescribesMergeKeys(t *testing.T) {
	t.Parallel()
	h := openapi.New(kind.NewRegistry(append(builtinKinds(), newCustomKind("example.com", networkSchema))...),
		"v1.37.2", nil)
	document := unmarshalV2(t, getV2(h, "Accept",
		"application/com.github.proto-openapi.spec.v2@v1.0+protobuf").Body.Bytes())
	models, err := openapiproto.NewOpenAPIData(document)
	if err != nil {
		t.Fatal(err)
	}
	parser, err := managedfields.NewGVKParser(models, false)
	if err != nil {
		t.Fatal(err)
	}
	pod, err := parser.Type(corev1.SchemeGroupVersion.WithKind("Pod")).FromUnstructured(map[string]any{
		"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "x"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := pod.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	if got := set.String(); !strings.Contains(got, `.spec.containers[name="a"].image`) {
		t.Errorf("the fields of a pod are %s", got)
	}
	if typ := parser.Type(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Network"}); typ == nil {
		t.Error("a network has no type")
	}
}

// The protobuf form is served under both of its media types, and answers with the valid one. It equals the
// JSON form.
func TestSwaggerProtobufMatchesJSON(t *testing.T) {
	t.Parallel()
	h := openapi.New(kind.NewRegistry(append(builtinKinds(), newCustomKind("example.com", networkSchema))...),
		"v1.37.2", nil)
	want, err := openapi_v2.ParseDocument(getV2(h).Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, accept := range []string{
		"application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
		"application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
	} {
		w := getV2(h, "Accept", accept)
		if got := w.Header().Get("Content-Type"); got != "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" {
			t.Errorf("as %s: %s", accept, got)
		}
		got := unmarshalV2(t, w.Body.Bytes())
		if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
			t.Errorf("as %s: %s", accept, d)
		}
	}
}

func TestSwaggerOperations(t *testing.T) {
	t.Parallel()
	doc := swaggerOf(t, builtinKinds()...)
	type fact struct{ Method, ID, Action, Kind string }
	for path, want := range map[string][]fact{
		"/api/v1/namespaces/{namespace}/pods": {
			{"delete", "deleteCoreV1CollectionNamespacedPod", "deletecollection", "Pod"},
			{"get", "listCoreV1NamespacedPod", "list", "Pod"}, {"post", "createCoreV1NamespacedPod", "post", "Pod"},
		},
		"/api/v1/namespaces/{namespace}/pods/{name}/eviction": {{"post", "createCoreV1NamespacedPodEviction", "post",
			"Eviction"}},
		"/api/v1/watch/namespaces/{namespace}/pods/{name}": {{"get", "watchCoreV1NamespacedPod", "watch", "Pod"}},
		"/api/v1/watch/pods":       {{"get", "watchCoreV1PodListForAllNamespaces", "watchlist", "Pod"}},
		"/api/v1/watch/namespaces": {{"get", "watchCoreV1NamespaceList", "watchlist", "Namespace"}},
		"/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale": {
			{"get", "readAppsV1NamespacedDeploymentScale", "get", "Scale"},
			{"patch", "patchAppsV1NamespacedDeploymentScale", "patch", "Scale"},
			{"put", "replaceAppsV1NamespacedDeploymentScale", "put", "Scale"},
		},
		"/apis/apps/":    {{"get", "getAppsAPIGroup", "", ""}},
		"/apis/apps/v1/": {{"get", "getAppsV1APIResources", "", ""}},
		"/version/":      {{"get", "getCodeVersion", "", ""}},
	} {
		item := doc.Paths.Paths[path]
		var got []fact
		for method, op := range map[string]*spec.Operation{
			"delete": item.Delete, "get": item.Get, "patch": item.Patch, "post": item.Post, "put": item.Put,
		} {
			if op != nil {
				action, _ := op.Extensions.GetString("x-kubernetes-action")
				gvk, _ := op.Extensions["x-kubernetes-group-version-kind"].(map[string]any)
				kind, _ := gvk["kind"].(string)
				got = append(got, fact{method, op.ID, action, kind})
			}
		}
		slices.SortFunc(got, func(a, b fact) int { return strings.Compare(a.Method, b.Method) })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	patch := doc.Paths.Paths["/api/v1/namespaces/{namespace}/pods/{name}"].Patch
	var names []string
	for _, p := range patch.Parameters {
		if ref := p.Ref.String(); ref != "" {
			p = doc.Parameters[strings.TrimPrefix(ref, "#/parameters/")]
		}
		names = append(names, p.Name)
	}
	if d := cmp.Diff([]string{"body", "dryRun", "fieldManager", "fieldValidation", "force"}, names); d != "" {
		t.Error(d)
	}
	if !slices.Contains(patch.Consumes, "application/strategic-merge-patch+json") ||
		patch.Produces[0] != "application/json" {
		t.Errorf("a patch consumes %v and produces %v", patch.Consumes, patch.Produces)
	}
}

func TestSwaggerOmitsUnsupportedKeywords(t *testing.T) {
	t.Parallel()
	kinds := append(builtinKinds(), newCustomKind("example.com", &apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"spec": {Type: "object", Required: []string{"maybe", "port"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"maybe": {Type: "string", Nullable: true},
					"port":  {XIntOrString: true, Default: &apiextensionsv1.JSON{Raw: []byte(`80`)}},
					"free": {Type: "object", XPreserveUnknownFields: new(true),
						Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": {Type: "string"}}},
				}, AnyOf: []apiextensionsv1.JSONSchemaProps{{Required: []string{"free"}}}},
		},
	}))
	doc := swaggerOf(t, kinds...)
	got, err := json.Marshal(doc.Definitions["com.example.v1.Network"].Properties["spec"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"properties":{"free":{"x-kubernetes-preserve-unknown-fields":true},"maybe":{},"port":{"x-kubernetes-int-or-string":true}},"required":["port"],"type":"object"}`
	if d := cmp.Diff(parseJSON(t, []byte(want)), parseJSON(t, got)); d != "" {
		t.Error(d)
	}
	for _, word := range []string{`"default":`, `"oneOf":`, `"allOf":`, `"nullable":`, `#/components/`} {
		text, err := json.Marshal(doc.Definitions["io.k8s.api.core.v1.Container"])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), word) {
			t.Errorf("a container's schema has %s", word)
		}
	}
	if s := doc.Definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]; !s.Type.Contains("string") ||
		s.Format != "int-or-string" {
		t.Errorf("int-or-string is %v %s", s.Type, s.Format)
	}
}

// The document describes no fields of kinds that have no schema or preserve unknown fields, since old
// versions of kubectl reject fields that a schema does not name.
func TestSwaggerOmitsFieldsOfPreservingKinds(t *testing.T) {
	t.Parallel()
	preserving := newCustomKind("b.example.com", networkSchema).(*customKind)
	preserving.preserves = true
	doc := swaggerOf(t, append(builtinKinds(), newCustomKind("a.example.com", nil), preserving)...)
	for _, name := range []string{"com.example.a.v1.Network", "com.example.b.v1.Network"} {
		if s, ok := doc.Definitions[name]; !ok || len(s.Properties) > 0 {
			t.Errorf("%s has the fields %v", name, s.Properties)
		}
	}
}

func TestSwaggerCompressionAndETag(t *testing.T) {
	t.Parallel()
	registry := kind.NewRegistry(builtinKinds()...)
	h := openapi.New(registry, "v1.37.2", nil)
	plain, zipped := getV2(h), getV2(h, "Accept-Encoding", "gzip")
	if zipped.Header().Get("Content-Encoding") != "gzip" || zipped.Body.Len() > plain.Body.Len()/4 {
		t.Errorf("compressed: %d of %d bytes", zipped.Body.Len(), plain.Body.Len())
	}
	if w := getV2(h, "Accept-Encoding", "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
		t.Error("compressed for a client that does not accept gzip")
	}
	tag := plain.Header().Get("ETag")
	if w := getV2(h, "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("unchanged: %d with %d bytes", w.Code, w.Body.Len())
	}
	registry.Put(newCustomKind("example.com", networkSchema))
	if w := getV2(h, "If-None-Match", tag); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), "com.example.v1.Network") {
		t.Errorf("after a kind was added: %d", w.Code)
	}
	if w := getV2(h, "Accept", "text/html"); w.Code != http.StatusNotAcceptable {
		t.Errorf("as text/html: %d", w.Code)
	}
	if w := getV2(h, "Accept", "text/html, */*;q=0.1"); w.Code != http.StatusOK {
		t.Errorf("as text/html or anything: %d", w.Code)
	}
}
