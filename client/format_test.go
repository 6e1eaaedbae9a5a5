package client_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
)

// TestServersWithoutProtobuf checks that reads and deletes are repeated in JSON, and other writes are not, if a server
// rejects protobuf as Kubernetes' sample of an aggregated API server does. Later requests ask for JSON only.
func TestServersWithoutProtobuf(t *testing.T) {
	t.Parallel()
	const flunder = `{"kind":"Flunder","apiVersion":"wardle.example.com/v1alpha1","metadata":{"name":"a"}}`
	flunders := schema.GroupVersionResource{Group: "wardle.example.com", Version: "v1alpha1", Resource: "flunders"}
	for name, c := range map[string]struct {
		call func(client.Resource[*metav1.PartialObjectMetadata]) error
		want []string // the formats of the requests
		ok   bool
	}{
		"get": {func(r client.Resource[*metav1.PartialObjectMetadata]) error {
			_, err := r.Get(t.Context(), "default", "a")
			return err
		}, []string{"protobuf", "json", "json"}, true},
		"list": {func(r client.Resource[*metav1.PartialObjectMetadata]) error {
			_, err := r.List(t.Context(), "default", metav1.ListOptions{})
			return err
		}, []string{"protobuf", "json", "json"}, true},
		"delete": {func(r client.Resource[*metav1.PartialObjectMetadata]) error {
			return r.Delete(t.Context(), "default", "a", metav1.DeleteOptions{})
		}, []string{"protobuf", "json", "json"}, true},
		"deletecollection": {func(r client.Resource[*metav1.PartialObjectMetadata]) error {
			return r.DeleteCollection(t.Context(), "default", metav1.DeleteOptions{}, metav1.ListOptions{})
		}, []string{"protobuf", "json", "json"}, true},
		"patch": {func(r client.Resource[*metav1.PartialObjectMetadata]) error {
			_, err := r.Patch(t.Context(), "default", "a", "", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		}, []string{"protobuf", "json"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var formats []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if strings.Contains(r.Header.Get("Accept"), "protobuf") {
					formats = append(formats, "protobuf")
					w.WriteHeader(http.StatusNotAcceptable)
					w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotAcceptable","code":406}`))
					return
				}
				formats = append(formats, "json")
				if r.Method != http.MethodPatch && !strings.HasSuffix(r.URL.Path, "/a") {
					w.Write([]byte(`{"kind":"FlunderList","apiVersion":"wardle.example.com/v1alpha1","items":[` + flunder + `]}`))
					return
				}
				w.Write([]byte(flunder))
			}))
			defer server.Close()
			connection, err := client.New(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			resource := client.Of[*metav1.PartialObjectMetadata](connection, flunders)
			if err := c.call(resource); (err == nil) != c.ok {
				t.Errorf("the first call: got error %v", err)
			}
			if err := c.call(resource); err != nil {
				t.Errorf("the second call: got error %v", err)
			}
			if !slices.Equal(formats, c.want) {
				t.Errorf("got requests for %v, want %v", formats, c.want)
			}
		})
	}
}
