package ownership

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
)

const boxes = `{"metadata": {"name": "boxes.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
  "names": {"kind": "Box", "plural": "boxes"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
    "type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
      "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
      "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"],
        "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}}}}}}}}]}}`

// TestCreateMatchesSetManagedFields compares the maps that a create writes into a custom resource
// with those of SetManagedFields, and the ownership with that of the library.
func TestCreateMatchesSetManagedFields(t *testing.T) {
	t.Parallel()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal([]byte(boxes), &crd); err != nil {
		t.Fatal(err)
	}
	k, err := structural.New(object.NewCache(0), &crd, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{
		`{}`, `{"a": 1, "b": {"c": [1, 2]}, "d": null}`, `{"empty": {}, "set": []}`,
		`{"set": ["a", "say \"b\"", "back\\slash", ""]}`,
		`{"map": [{"name": "x", "port": 1}, {"name": "\"", "port": 2}]}`,
		`{"a.b/c": {"with \"quotes\"": {"and\\": 1, ",": 2, "}": {"{": 3}}}}`,
	} {
		var content map[string]any
		body := `{"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "a", "labels": {"l": "1"}}, "spec": ` + spec + `}`
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(body), &content); err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: content}
		library := u.DeepCopy()
		o := New(k)
		if !o.create("example.com/v1", u, "m") {
			t.Errorf("create does not handle %s", spec)
			continue
		}
		again := u.DeepCopy()
		again.SetManagedFields(u.GetManagedFields())
		if diff := cmp.Diff(again.Object, u.Object); diff != "" {
			t.Errorf("%s: the maps differ (-library +ours):\n%s", spec, diff)
		}
		if err := o.update("example.com/v1", "", nil, library, "m"); err != nil {
			t.Fatal(err)
		}
		if got, want := owned(t, u), owned(t, library); got != want {
			t.Errorf("%s: create computed\n%s\nbut the library\n%s", spec, got, want)
		}
	}
}

// TestEntriesMatchManagedFields compares Entries and SetEntries with the methods of custom
// resources, for valid and invalid managedFields.
func TestEntriesMatchManagedFields(t *testing.T) {
	t.Parallel()
	entry := func(rest string) string {
		return `[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1"` + rest + `}]`
	}
	for metadata, plain := range map[string]bool{
		entry(``): true, entry(`,"fieldsV1":{}`): true,
		entry(`,"subresource":"status","fieldsV1":{"f:a":{".":{},"f:b":{}}}`):              true,
		entry(`,"fieldsV1":{"k:{\"a\":\"b\\\\c\"}":{"f:b":{}},"f:}":{},"f:,":{"f:{":{}}}`): true,
		`[]`: true, `null`: true, `{}`: true, `[{}]`: true, `"a"`: true,
		`[{"time":"2026-01-02T05:04:05.5+02:00"}]`: true,
		entry(`,"fieldsV1":{"f:<&>":{}}`):          false, entry(`,"fieldsV1":{"f:ü":{}}`): false,
		entry(`,"fieldsV1":{"f:\u2028\n":{}}`): false, entry(`,"fieldsV1":"a"`): false,
		entry(`,"fieldsV1":null`): false, entry(`,"fieldsV1":{"f:a":1}`): false,
		entry(`,"fieldsV1":{"f:a":null}`): false,
		entry(`,"more":"text"`):           false, entry(`,"manager":1`): false, entry(`,"manager":null`): false,
		`[{"time":"0001-01-01T00:00:00Z"}]`: true, `[{"time":"today"}]`: false, `[{"time":null}]`: false,
		`[null]`: false, `[1]`: false, `[[]]`: false,
	} {
		var content map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(`{"metadata":{"managedFields":`+metadata+`}}`),
			&content); err != nil {
			t.Fatalf("%s: %v", metadata, err)
		}
		u := &unstructured.Unstructured{Object: content}
		if _, got := plainEntries(u); got != plain {
			t.Errorf("plainEntries of %s: got plain %t", metadata, got)
		}
		entries := Entries(u)
		if diff := cmp.Diff(u.GetManagedFields(), entries); diff != "" {
			t.Errorf("%s is decoded differently (-its own method +ours):\n%s", metadata, diff)
		}
		want := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}}}
		got := want.DeepCopy()
		want.SetManagedFields(entries)
		SetEntries(got, entries)
		if diff := cmp.Diff(want.Object, got.Object); diff != "" {
			t.Errorf("%s is encoded differently (-its own method +ours):\n%s", metadata, diff)
		}
	}
}

// TestMapsOfRejectsIrregularJSON checks that mapsOf accepts only what a JSON decoder accepts.
func TestMapsOfRejectsIrregularJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `{`, `}`, `{{`, `null`, `[]`, `1`, `{"a"}`, `{"a":}`, `{"a":{}`, `{"a":{},}`, `{,"a":{}}`, `{"a":{}"b":{}}`,
		`{"a" :{}}`, `{"a":{}}}`, ` {}`, `{"a":1}`, `{"a\u0041":{}}`, `{"\`, `{"a\`, `{"a`, `{"é":{}}`, `{"a":{"b":}}`,
	} {
		if content, rest, plain := mapsOf(text, map[string]any{}); plain && rest == "" {
			t.Errorf("mapsOf(%q) returned %v, want it to reject that", text, content)
		}
	}
}
