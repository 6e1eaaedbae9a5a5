package ownership

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestPlainApplyMatchesLibrary applies random documents by three managers to objects of every kind,
// and compares the results and their managedFields with those of the library.
func TestPlainApplyMatchesLibrary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, plainAppliesAsTheLibrary)
}

func plainAppliesAsTheLibrary(t *testing.T) {
	const seed, objects, applies = 11, 6, 8
	codecs := serializer.NewCodecFactory(scheme.Scheme)
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs), rand.NewSource(seed), codecs)
	fill.NilChance(0.4).NumElements(0, 3).MaxDepth(12)
	fill.Funcs(func(j *apiextensionsv1.JSON, _ randfill.Continue) { j.Raw = []byte(`{"a":[1,"b"]}`) })
	random := rand.New(rand.NewSource(seed))
	plain, changed := 0, 0
	for _, k := range builtin.Kinds(object.NewCache(0)) {
		o := New(k)
		for range objects {
			w := applier{Owners: o, kind: k, random: random, last: map[string]map[string]any{}}
			filled := k.New()
			gvk := filled.GetObjectKind().GroupVersionKind()
			fill.Fill(filled)
			fillStrings(reflect.ValueOf(filled))
			filled.GetObjectKind().SetGroupVersionKind(gvk)
			filled.SetManagedFields(nil)
			w.whole = asMap(t, filled)
			for range applies {
				time.Sleep(600 * time.Millisecond) // of bubble time, so that some entries have the same second
				switch w.apply(t) {
				case "same":
					plain++
				case "changed":
					changed++
				}
			}
		}
	}
	t.Logf("%d plain applies changed nothing, %d something", plain, changed)
	if plain < 50 || changed < 50 {
		t.Errorf("only %d plain applies changed nothing, %d something", plain, changed)
	}
}

// TestPlainApplyOfCustomResourcesMatchesLibrary does the same for custom resources with all kinds of
// lists and maps.
func TestPlainApplyOfCustomResourcesMatchesLibrary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal([]byte(plainDefinition), crd); err != nil {
			t.Fatal(err)
		}
		k, err := structural.New(object.NewCache(0), crd, nil)
		if err != nil {
			t.Fatal(err)
		}
		whole := map[string]any{}
		if err := utiljson.Unmarshal([]byte(plainCustom), &whole); err != nil {
			t.Fatal(err)
		}
		made := map[string]int{}
		random := rand.New(rand.NewSource(5))
		for range 60 {
			w := applier{Owners: New(k), kind: k, random: random, last: map[string]map[string]any{}, whole: whole}
			for range 12 {
				time.Sleep(600 * time.Millisecond)
				made[w.apply(t)]++
			}
		}
		if t.Log(made); made["same"] < 50 || made["changed"] < 50 {
			t.Errorf("too few applies were plain: %v", made)
		}
	})
}

const plainDefinition = `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
	"names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
	"schema":{"openAPIV3Schema":{"type":"object","properties":{"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
	"spec":{"type":"object","properties":{
		"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
		"map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object",
			"required":["name"],"properties":{"name":{"type":"string"},"v":{"type":"string","nullable":true},"n":{"type":"integer"}}}},
		"atomic":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}},
		"whole":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
		"texts":{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}},
		"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}}]}}`

const plainCustom = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"n","labels":{"l":"1","m":"2"},
	"annotations":{"a":"1"},"finalizers":["example.com/f"]},"spec":{"set":["a","b","c"],
	"map":[{"name":"x","v":"1","n":1},{"name":"y","v":"2"},{"name":"z","n":3}],"atomic":[{"a":"1"},{"a":"2"}],"whole":{"k":"1","l":"2"},
	"texts":{"x":{"a":"1","b":"2"},"y":{"a":"3"},"z":{}},"free":{"deep":{"er":[1,"b"],"est":"2"},"flat":"1"}}}`

// applier applies documents to one object.
type applier struct {
	*Owners
	kind   kind.Kind
	random *rand.Rand
	whole  map[string]any // the source of documents
	live   kind.Object
	last   map[string]map[string]any // the previous document of each manager
}

// apply applies a document both ways, and returns the effect in applyPlain: "" (not used), "same" or
// "changed".
func (w *applier) apply(t *testing.T) string {
	empty := w.kind.New()
	gvk := empty.GetObjectKind().GroupVersionKind()
	e, err := w.endpoint(gvk.GroupVersion().String(), "")
	if err != nil {
		t.Fatal(err)
	}
	manager := []string{"a", "b", "kubectl"}[w.random.Intn(3)]
	doc := w.document(manager)
	var before runtime.Object = empty
	if w.live != nil {
		before = w.live.DeepCopyObject()
	}
	force := w.random.Intn(4) == 0
	want, wantErr := e.library.Apply(before, &unstructured.Unstructured{Object: runtime.DeepCopyJSON(doc)}, manager,
		force)
	made := ""
	if w.live != nil {
		was := w.live.DeepCopyObject()
		got, ok := w.applyPlain(e, "", w.live, &unstructured.Unstructured{Object: doc}, manager)
		if !reflect.DeepEqual(was, w.live) {
			t.Fatalf("%s: the stored object changed", gvk)
		}
		if ok {
			if wantErr != nil {
				t.Fatalf("%s: the library rejects the apply: %v\n%v", gvk, wantErr, doc)
			}
			made = "changed"
			if got == w.live {
				made = "same"
			}
			if got, want := formatObject(t, got), formatObject(t, want); got != want {
				t.Fatalf("%s: %s applies\n%v\nto\n%v: got\n%s\nwant, as from the library,\n%s", gvk, manager, doc,
					formatObject(t, was), got, want)
			}
		}
	}
	if wantErr != nil {
		return made
	}
	next := w.kind.New()
	if custom, ok := next.(*unstructured.Unstructured); ok {
		custom.Object = asMap(t, want)
	} else if err := runtime.DefaultUnstructuredConverter.FromUnstructured(asMap(t, want), next); err != nil {
		return made
	}
	next.SetUID("u")
	w.live, w.last[manager] = next, doc
	return made
}

// document returns a part of the whole, or the manager's previous document with a small change.
func (w *applier) document(manager string) map[string]any {
	doc := w.last[manager]
	if doc == nil || w.random.Intn(4) == 0 {
		doc = w.part(w.whole).(map[string]any)
		delete(doc, "status")
		meta := map[string]any{"name": "n"}
		for _, name := range []string{"labels", "annotations", "finalizers"} {
			if v, ok := w.whole["metadata"].(map[string]any)[name]; ok {
				meta[name] = w.part(v)
			}
		}
		doc["metadata"] = meta
		doc["apiVersion"], doc["kind"] = w.whole["apiVersion"], w.whole["kind"]
		return doc
	}
	doc = runtime.DeepCopyJSON(doc)
	if w.random.Intn(3) > 0 {
		w.edit(doc)
	}
	return doc
}

// part removes some items from maps and lists, and empties others. It does not change strings and numbers.
func (w *applier) part(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch item := v[name].(type) {
			case map[string]any, []any:
				if w.random.Intn(3) > 0 {
					out[name] = w.part(item)
				}
			default:
				out[name] = item
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			if w.random.Intn(3) > 0 {
				out = append(out, w.part(item))
			}
		}
		return out
	}
	return v
}

// edit changes a string in a map, adds an item, or sets one to null.
func (w *applier) edit(m map[string]any) {
	names := slices.Sorted(maps.Keys(m))
	for range 3 * len(names) {
		name := names[w.random.Intn(len(names))]
		switch v := m[name].(type) {
		case map[string]any:
			w.edit(v)
			return
		case []any:
			if len(v) > 0 {
				if item, ok := v[w.random.Intn(len(v))].(map[string]any); ok {
					w.edit(item)
					return
				}
			}
		case string:
			if name == "apiVersion" || name == "kind" || name == "name" {
				continue
			}
			m[name] = fmt.Sprint(v, w.random.Intn(9))
			if w.random.Intn(9) == 0 {
				m[name] = nil
			}
			return
		}
	}
}

func asMap(t *testing.T, obj any) map[string]any {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	u := map[string]any{}
	if err := utiljson.Unmarshal(data, &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// formatObject formats an object and its managedFields.
func formatObject(t *testing.T, obj runtime.Object) string {
	t.Helper()
	obj = obj.DeepCopyObject()
	entries := obj.(metav1.Object).GetManagedFields()
	obj.(metav1.Object).SetManagedFields(nil)
	ownership, err := json.Marshal(asMap(t, map[string]any{"entries": entries})) // sorts the fields
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s\n%s", data, ownership)
}
