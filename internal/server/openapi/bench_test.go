package openapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/openapi"
)

// manyKinds returns the built-in kinds and n custom ones, each in its own group with a schema of 40 fields.
func manyKinds(n int) []kind.Kind {
	fields := map[string]apiextensionsv1.JSONSchemaProps{}
	for i := range 40 {
		fields[fmt.Sprintf("field%d", i)] = apiextensionsv1.JSONSchemaProps{
			Type:        "string",
			Description: "What it is for, in a sentence or two that people write for whoever uses the field.",
		}
	}
	s := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Properties: fields},
	}}
	kinds := builtinKinds()
	for i := range n {
		kinds = append(kinds, newCustomKind(fmt.Sprintf("g%d.example.com", i), s))
	}
	return kinds
}

func answer(b *testing.B, h *openapi.Handler, path, accept string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	if !h.Serve(w, r) || w.Code != http.StatusOK {
		b.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	b.SetBytes(int64(w.Body.Len()))
}

// BenchmarkIndexAfterChange measures the index of 1,000 groups after a change of one.
func BenchmarkIndexAfterChange(b *testing.B) {
	registry := kind.NewRegistry(manyKinds(1000)...)
	h := openapi.New(registry, "v1.37.2", nil)
	answer(b, h, "/openapi/v3", "")
	for b.Loop() {
		registry.Put(newCustomKind("g500.example.com", networkSchema))
		answer(b, h, "/openapi/v3", "")
	}
}

// BenchmarkFirstIndex measures the first index of 1,000 groups.
func BenchmarkFirstIndex(b *testing.B) {
	registry := kind.NewRegistry(manyKinds(1000)...)
	for b.Loop() {
		answer(b, openapi.New(registry, "v1.37.2", nil), "/openapi/v3", "")
	}
}

// benchmarkChanges requests a document after each change of one kind.
func benchmarkChanges(b *testing.B, kinds []kind.Kind, changed *customKind, path string) {
	registry := kind.NewRegistry(kinds...)
	h := openapi.New(registry, "v1.37.2", nil)
	for b.Loop() {
		next := *changed
		next.preserves = !changed.preserves
		changed = &next
		registry.Put(changed)
		answer(b, h, path, "application/json")
	}
}

// BenchmarkDocumentAfterChange measures the document of one of 1,000 groups after a change of it.
func BenchmarkDocumentAfterChange(b *testing.B) {
	kinds := manyKinds(1000)
	benchmarkChanges(b, kinds, kinds[len(kinds)-1].(*customKind), "/openapi/v3/apis/g999.example.com/v1")
}

// BenchmarkDocumentOfManyAfterChange measures the document of a group of twenty kinds after a change of one.
func BenchmarkDocumentOfManyAfterChange(b *testing.B) {
	var kinds []kind.Kind
	for i, k := range manyKinds(20)[len(builtinKinds()):] {
		info := k.Info()
		info.Kind, info.Plural = fmt.Sprintf("Network%d", i), fmt.Sprintf("networks%d", i)
		info.Endpoints[0].Group = "example.com"
		kinds = append(kinds, k)
	}
	benchmarkChanges(b, kinds, kinds[10].(*customKind), "/openapi/v3/apis/example.com/v1")
}

// BenchmarkDocument measures documents of built-in kinds that are not cached.
func BenchmarkDocument(b *testing.B) {
	registry := kind.NewRegistry(manyKinds(0)...)
	for _, path := range []string{"/openapi/v3/apis/apps/v1", "/openapi/v3/api/v1"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				answer(b, openapi.New(registry, "v1.37.2", nil), path, "application/json")
			}
		})
	}
}

// BenchmarkSwagger measures the OpenAPI v2 document without a cache.
func BenchmarkSwagger(b *testing.B) {
	for _, format := range []string{"application/json", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"} {
		for _, n := range []int{0, 1000} {
			b.Run(fmt.Sprintf("%s/%d", format, n), func(b *testing.B) {
				registry := kind.NewRegistry(manyKinds(n)...)
				for b.Loop() {
					answer(b, openapi.New(registry, "v1.37.2", nil), "/openapi/v2", format)
				}
			})
		}
	}
}
