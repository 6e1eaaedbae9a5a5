package openapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/server/openapi"
)

// TestOldClientsFindADocumentThatDescribesNothing: kubectl reads it, in protobuf, before it applies a List or an object of
// a kind that is not served. A 404 would end that with "the server could not find the requested resource".
func TestOldClientsFindADocumentThatDescribesNothing(t *testing.T) {
	t.Parallel()
	h := openapi.New(kind.NewRegistry(builtinKinds()...))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Serve(w, r) }))
	defer server.Close()
	client, err := clientdiscovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	document, err := client.OpenAPISchema()
	if err != nil {
		t.Fatal(err)
	}
	if document.Swagger != "2.0" || len(document.GetDefinitions().GetAdditionalProperties()) != 0 {
		t.Errorf("got %v", document)
	}

	w := httptest.NewRecorder()
	h.Serve(w, httptest.NewRequest(http.MethodGet, "/openapi/v2", nil))
	var text struct {
		Swagger string
		Info    struct{ Title, Version string }
		Paths   map[string]any
	}
	if err := json.Unmarshal(w.Body.Bytes(), &text); err != nil || text.Swagger != "2.0" || text.Info.Title == "" || text.Paths == nil {
		t.Errorf("as JSON: %v %s", err, w.Body)
	}
	r := httptest.NewRequest(http.MethodGet, "/openapi/v2", nil)
	r.Header.Set("Accept", "text/html")
	w = httptest.NewRecorder()
	if h.Serve(w, r); w.Code != http.StatusNotAcceptable {
		t.Errorf("as text/html: %d", w.Code)
	}
}
