package client

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/wire"
)

// FuzzFacts reads the answer to a write in each format, for the journal. If a library can decode the metadata of a
// protobuf answer, the facts are the same.
func FuzzFacts(f *testing.F) {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	message, _, err := wire.EncodeBody(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "5",
		Labels: map[string]string{"l": "x"}, Finalizers: []string{"f"}}}, gvk)
	if err != nil {
		f.Fatal(err)
	}
	status := []byte("k8s\x00\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x08\x1a\x01m\x2a\x03\x0a\x01a") // with a message and a name
	f.Add(runtime.ContentTypeProtobuf, message)
	f.Add(runtime.ContentTypeProtobuf+";a=b", status)
	f.Add(runtime.ContentTypeJSON, []byte(`{"kind":"Table","rows":[{"object":{"metadata":{"name":"a"}}}],"message":5}`))
	f.Add(runtime.ContentTypeCBOR, []byte("\xd9\xd9\xf7\xa1\x44kind\x41a"))
	f.Add("x/y; =", []byte("{}"))
	f.Fuzz(func(t *testing.T, contentType string, data []byte) {
		got := readFacts(contentType, data)
		(&Write{Verb: "delete"}).setFacts(got)
		if contentType != runtime.ContentTypeProtobuf || !wire.IsProtobuf(data) || got.Kind == "Status" {
			return
		}
		var want metav1.PartialObjectMetadata
		if _, message, err := wire.Unwrap(data); err != nil || want.Unmarshal(message) != nil {
			return
		}
		if m := got.Metadata; m.Name != want.Name && m.Name != "" || m.UID != want.UID && m.UID != "" ||
			m.ResourceVersion != want.ResourceVersion && m.ResourceVersion != "" {
			t.Errorf("%q: got %+v, want %+v", data, m, want.ObjectMeta)
		}
	})
}
