package ownership

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
)

// FuzzFieldsV1 reads field sets. Ours are decoded and encoded as a JSON library does it, and the set that the library
// of Kubernetes reads from the result is the same.
func FuzzFieldsV1(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"f:a":{}}`, `{"f:metadata":{"f:labels":{".":{},"f:a.b/c":{}}},"f:spec":{"k:{\"name\":\"x\"}":{".":{}}}}`,
		`{"v:\"a\\\\b\"":{},"i:3":{}}`, `{"f:<&>":{}}`, `{"f:a":{},"f:a":{".":{}}}`, `{"f:a":1}`, `{"":{}}`, `{"f:ü\u2028":{}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		content, rest, plain := mapsOf(text, map[string]any{})
		if !plain || rest != "" {
			return
		}
		var want map[string]any
		duplicates, err := kjson.UnmarshalStrict([]byte(text), &want)
		if err != nil {
			t.Fatalf("%s is accepted, but is no JSON: %v", text, err)
		}
		if diff := cmp.Diff(want, content); diff != "" && len(duplicates) == 0 {
			t.Fatalf("%s (-library +ours):\n%s", text, diff)
		}
		written, plain := appendFields(nil, content)
		if !plain {
			return // the library encodes it
		}
		if encoded, err := json.Marshal(content); err != nil || string(encoded) != string(written) {
			t.Fatalf("%s: got %s, want %s (%v)", text, written, encoded, err)
		}
		var before, after fieldpath.Set
		if len(duplicates) > 0 || before.FromJSON(strings.NewReader(text)) != nil {
			return
		}
		if err := after.FromJSON(strings.NewReader(string(written))); err != nil || !after.Equals(&before) {
			t.Errorf("%s becomes %s, which is %s (%v), and not %s", text, written, &after, err, &before)
		}
	})
}

// FuzzApply applies a document by one of two managers to a custom resource, and compares the result with that of the
// library, as far as the library is not used anyway.
func FuzzApply(f *testing.F) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal([]byte(plainDefinition), &crd); err != nil {
		f.Fatal(err)
	}
	k, err := structural.New(object.NewCache(0), &crd, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, spec := range []string{
		`{"set":["a","b"],"map":[{"name":"x","v":"1"}],"texts":{"x":{"a":"1"}}}`, `{"map":[{"name":"x"},{"name":"x"}]}`,
		`{"whole":{"k":"1"},"free":{"a":[1,{"b":null}]}}`, `{"set":["a","a"]}`, `null`, `{"map":[{}]}`, `{"atomic":[null]}`,
	} {
		f.Add(spec, `{"set":["b"],"map":[{"name":"x","n":1}],"free":{"deep":{"er":[]}}}`, false)
		f.Add(`{"set":["b"],"free":{"deep":{}}}`, spec, true)
	}
	f.Fuzz(func(t *testing.T, first, second string, other bool) {
		o, manager := New(k), "a"
		e, err := o.endpoint("example.com/v1", "")
		if err != nil {
			t.Fatal(err)
		}
		live, err := applyByLibrary(e, k.New(), first, manager)
		document := documentOf(second)
		if err != nil || document == nil {
			return
		}
		if other {
			manager = "b"
		}
		live.SetUID("u")
		got, ok := o.applyPlain(e, "", live, document.DeepCopy(), manager)
		if !ok {
			return
		}
		want, err := applyByLibrary(e, live, second, manager)
		if err != nil {
			t.Fatalf("%s after %s is applied, but the library rejects it: %v", second, first, err)
		}
		if diff := cmp.Diff(formatTimeless(t, want), formatTimeless(t, got)); diff != "" {
			t.Errorf("%s after %s (-library +ours):\n%s", second, first, diff)
		}
	})
}

// documentOf returns a document with a spec, or nil if the spec is no JSON without duplicate fields.
func documentOf(spec string) *unstructured.Unstructured {
	var content map[string]any
	duplicates, err := kjson.UnmarshalStrict(
		[]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"n"},"spec":`+spec+`}`), &content)
	if err != nil || len(duplicates) > 0 {
		return nil
	}
	return &unstructured.Unstructured{Object: content}
}

func applyByLibrary(e *endpoint, live runtime.Object, spec, manager string) (kind.Object, error) {
	document := documentOf(spec)
	if document == nil {
		return nil, errors.New("no document")
	}
	after, err := e.library.Apply(live.DeepCopyObject(), document, manager, false)
	if err != nil {
		return nil, err
	}
	return after.(kind.Object), nil
}

// formatTimeless formats an object and its managedFields without the times of its entries.
func formatTimeless(t *testing.T, obj runtime.Object) string {
	t.Helper()
	o := obj.DeepCopyObject().(kind.Object)
	entries := o.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	o.SetManagedFields(entries)
	return formatObject(t, o)
}
