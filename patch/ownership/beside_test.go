package ownership

import (
	"encoding/json"
	"math/rand"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/kind/structural"
	"github.com/bowline-dev/bowline/object"
)

// said is what clients make of the ownership in an object that they write: nothing, an end of it all, and claims, of which one
// is to the ownership itself, one of another version, and others cannot be read.
var said = []string{
	``, ``, ``, ``, `null`, `[]`, `[{}]`, `"a"`, `[1]`,
	`[{"manager":"x","operation":"Update","apiVersion":"example.com/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1",` +
		`"fieldsV1":{"f:metadata":{"f:managedFields":{}},"f:spec":{"f:map":{"k:{\"name\":\"x\"}":{".":{},"f:v":{}}}}}}]`,
	`[{"manager":"x","operation":"Apply","apiVersion":"example.com/v2","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:whole":{}}}}]`,
	`[{"manager":"x","operation":"Bad","apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]`,
	`[{"manager":"x","operation":"Update","apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":1}}]`,
}

// TestUpdateOfCustomResourcesDoesWhatTheLibraryDoes writes random changes of four managers to custom resources, and compares them
// with what the library makes of the objects as they are.
func TestUpdateOfCustomResourcesDoesWhatTheLibraryDoes(t *testing.T) {
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
		o, random, beside := New(k), rand.New(rand.NewSource(7)), 0
		for range 40 {
			w := writers{Owners: o, kind: k, random: random}
			live := &unstructured.Unstructured{}
			if err := utiljson.Unmarshal([]byte(plainCustom), &live.Object); err != nil {
				t.Fatal(err)
			}
			live.SetUID("u")
			o.Update("example.com/v1", "", nil, live, "first")
			for range 20 {
				time.Sleep(600 * time.Millisecond) // of the bubble: some ownership is of the same second
				var plain bool
				if live, plain = w.update(t, live); plain {
					beside++
				}
			}
		}
		if t.Log(beside, "of 800 updates had their ownership beside them"); beside < 300 || beside > 790 {
			t.Errorf("%d of 800 updates had their ownership beside them", beside)
		}
	})
}

// update writes one change in both ways. plain says that its ownership was beside it.
func (w *writers) update(t *testing.T, live *unstructured.Unstructured) (next *unstructured.Unstructured, plain bool) {
	manager, sub := []string{"a", "b", "", "first"}[w.random.Intn(4)], []string{"", "", "status"}[w.random.Intn(3)]
	e, err := w.endpoint("example.com/v1", sub)
	if err != nil {
		t.Fatal(err)
	}
	next = live.DeepCopy()
	for range w.random.Intn(4) {
		w.edit(next.Object)
	}
	if w.random.Intn(3) == 0 {
		next.Object["spec"] = w.part(next.Object["spec"])
	}
	if text := said[w.random.Intn(len(said))]; text != "" {
		var entries any
		if err := utiljson.Unmarshal([]byte(text), &entries); err != nil {
			t.Fatal(err)
		}
		next.Object["metadata"].(map[string]any)["managedFields"] = entries
	}
	_, _, plain = e.besideOwnership(live, next)
	was, want, written := live.DeepCopy(), next.DeepCopy(), next.DeepCopy()
	if _, err := e.library.Update(live.DeepCopy(), want, manager); err != nil {
		want.SetManagedFields(live.GetManagedFields())
	} else {
		want.SetManagedFields(want.GetManagedFields())
	}
	w.Update("example.com/v1", sub, live, next, manager)
	if diff := cmp.Diff(want.Object, next.Object); diff != "" {
		t.Fatalf("%s writes\n%v\nto\n%v\nwith (-library +here):\n%s", manager, written.Object, was.Object, diff)
	}
	if diff := cmp.Diff(was.Object, live.Object); diff != "" {
		t.Fatalf("the stored object changed (-was +is):\n%s", diff)
	}
	return next, plain
}
