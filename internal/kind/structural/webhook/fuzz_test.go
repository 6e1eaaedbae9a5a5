package webhook

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// FuzzAnswer lets a conversion webhook answer any body. An answer is rejected, or the converted object has the
// requested version, and the kind and all metadata of the original but labels and annotations.
func FuzzAnswer(f *testing.F) {
	for _, object := range []string{
		`{"apiVersion":"a.b/v2","kind":"K","metadata":{"name":"n","namespace":"ns","uid":"u","labels":{"a":"b"}},"spec":{"x":1}}`,
		`{"apiVersion":"a.b/v2","kind":"K","metadata":{"name":"n","namespace":"ns","uid":"u","labels":null,"finalizers":["x"]},"items":[]}`,
		`{"apiVersion":"a.b/v2","kind":"K","metadata":{"name":"n"}}`, `null`, `[]`, `{"apiVersion":"a.b/v2","kind":"K","items":[{}]}`,
	} {
		f.Add(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"U","result":{"status":"Success"},"convertedObjects":[`+object+`]}}`, true)
		f.Add(`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview","response":{"result":{"status":"Success"},"convertedObjects":[`+object+`]}}`, false)
	}
	f.Add(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"U","result":{"status":"Failure"}}}`, true)
	codec, err := reviews()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer string, current bool) {
		original := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "a.b/v1", "kind": "K",
			"metadata": map[string]any{"name": "n", "namespace": "ns", "uid": "u", "finalizers": []any{"f"},
				"labels": map[string]any{"l": "1"}}}}
		version := "v1beta1"
		if current {
			version = "v1"
		}
		r, err := newReview([]string{version}, []*unstructured.Unstructured{original}, "a.b/v2")
		if err != nil {
			t.Fatal(err)
		}
		r.uid = "U"
		if runtime.DecodeInto(codec, []byte(answer), r.response) != nil {
			return
		}
		objects, err := r.converted()
		if err != nil || len(objects) != 1 {
			return
		}
		got, err := validateObject(original, objects[0], "a.b/v2", errorNamesFor(0, 1))
		if err != nil {
			return
		}
		if got.GetAPIVersion() != "a.b/v2" || got.GetKind() != "K" || got.GetName() != "n" || got.GetNamespace() != "ns" ||
			got.GetUID() != "u" || len(got.GetFinalizers()) != 1 || got.GetFinalizers()[0] != "f" {
			t.Errorf("%s is converted to %v", answer, got.Object)
		}
		if _, err := json.Marshal(got.Object); err != nil {
			t.Errorf("%s: %v", answer, err)
		}
	})
}
