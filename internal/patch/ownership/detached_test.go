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

	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
)

// managedFieldsCases lists values of managedFields that a client may send: none, empty ones that reset ownership, and
// lists of entries, some of them for managedFields itself, in another version, or invalid.
var managedFieldsCases = []string{
	``, ``, ``, ``, `null`, `[]`, `[{}]`, `"a"`, `[1]`,
	`[{"manager":"x","operation":"Update","apiVersion":"example.com/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1",` +
		`"fieldsV1":{"f:metadata":{"f:managedFields":{}},"f:spec":{"f:map":{"k:{\"name\":\"x\"}":{".":{},"f:v":{}}}}}}]`,
	`[{"manager":"x","operation":"Apply","apiVersion":"example.com/v2","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:whole":{}}}}]`,
	`[{"manager":"x","operation":"Bad","apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]`,
	`[{"manager":"x","operation":"Update","apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":1}}]`,
}

// TestCustomUpdateMatchesLibrary writes random changes by ten managers to custom
// resources, and compares the results with those of the library for the unmodified objects, except for owners in
// versions that the kind does not have.
func TestCustomUpdateMatchesLibrary(t *testing.T) {
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
		o, random, made := New(k), rand.New(rand.NewSource(7)), map[string]int{}
		for range 40 {
			w := applier{Owners: o, kind: k, random: random}
			live := &unstructured.Unstructured{}
			if err := utiljson.Unmarshal([]byte(plainCustom), &live.Object); err != nil {
				t.Fatal(err)
			}
			live.SetUID("u")
			o.Update("example.com/v1", "", nil, live, "first")
			for range 20 {
				// Wait in bubble time until the next half second: some entries then have the same second, and
				// both computations run in the same second, even though the library's error reporting takes a
				// moment.
				time.Sleep(time.Until(time.Now().Truncate(time.Second / 2).Add(time.Second / 2)))
				var how string
				live, how = w.update(t, live)
				made[how]++
			}
		}
		if t.Log(made); made["plain"] < 200 || made["whole"] < 100 {
			t.Errorf("too few updates of each kind: %v", made)
		}
	})
}

// update computes one change both ways. how is the path that it took: "plain" without the library, or "whole" with it.
func (w *applier) update(t *testing.T, live *unstructured.Unstructured) (next *unstructured.Unstructured, how string) {
	managers := []string{"a", "b", "", "first", "c", "d", "e", "f", "g", "h"}
	manager, sub := managers[w.random.Intn(len(managers))], []string{"", "", "status"}[w.random.Intn(3)]
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
	if text := managedFieldsCases[w.random.Intn(len(managedFieldsCases))]; text != "" {
		var entries any
		if err := utiljson.Unmarshal([]byte(text), &entries); err != nil {
			t.Fatal(err)
		}
		next.Object["metadata"].(map[string]any)["managedFields"] = entries
	}
	how = "whole"
	if was, is, detached := e.detach(w.withoutRemoved(e, live), w.withoutRemoved(e, next)); detached {
		if _, plain := w.updatePlain(e, sub, was, is, manager); plain {
			how = "plain"
		}
	}
	was, want, written := live.DeepCopy(), next.DeepCopy(), next.DeepCopy()
	// Unlike the library, owners in versions that the kind does not have are retained.
	compared := w.withoutRemoved(e, next.DeepCopy())
	if _, err := e.library.Update(w.withoutRemoved(e, live.DeepCopy()), compared, manager); err != nil {
		want.SetManagedFields(live.GetManagedFields())
	} else {
		want.SetManagedFields(compared.GetManagedFields())
	}
	w.Update("example.com/v1", sub, live, next, manager)
	if diff := cmp.Diff(want.Object, next.Object); diff != "" {
		t.Fatalf("%s writes\n%v\nto\n%v\nthe results differ (-library +ours):\n%s", manager, written.Object, was.Object,
			diff)
	}
	if diff := cmp.Diff(was.Object, live.Object); diff != "" {
		t.Fatalf("the stored object changed (-was +is):\n%s", diff)
	}
	return next, how
}
