package ownership

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestStructUpdateMatchesLibrary writes random changes by several managers to objects of every
// kind, and compares the managedFields with those that the library computes from the whole objects.
func TestStructUpdateMatchesLibrary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const seed, objects, updates = 3, 5, 10
		fill := filler(seed).NumElements(0, 3)
		random, plain, all := rand.New(rand.NewSource(seed)), 0, 0
		for _, k := range builtin.Kinds(object.NewCache(0)) {
			o := New(k)
			for range objects {
				w := applier{Owners: o, kind: k, random: random}
				live := filled(fill, k)
				live.SetUID("u")
				o.Update(live.GetObjectKind().GroupVersionKind().GroupVersion().String(), "", nil, live, "first")
				for range updates {
					// see TestCustomUpdateMatchesLibrary
					time.Sleep(time.Until(time.Now().Truncate(time.Second / 2).Add(time.Second / 2)))
					next, was := w.updateStruct(t, live)
					if all++; was {
						plain++
					}
					live = next
				}
			}
		}
		if t.Logf("%d of %d updates were plain", plain, all); plain < all/3 {
			t.Errorf("only %d of %d updates were plain", plain, all)
		}
	})
}

// updateStruct computes one change both ways, and reports whether updatePlain handled it.
func (w *applier) updateStruct(t *testing.T, live kind.Object) (next kind.Object, plain bool) {
	manager := []string{"a", "b", "", "first", "c"}[w.random.Intn(5)]
	sub := ""
	if w.kind.Info().Subresource("status") != nil {
		sub = []string{"", "status"}[w.random.Intn(2)]
	}
	next = w.changedStruct(t, live)
	apiVersion := w.kind.Info().Endpoints[w.random.Intn(len(w.kind.Info().Endpoints))].APIVersion()
	e, err := w.endpoint(apiVersion, sub)
	if err != nil {
		t.Fatal(err)
	}
	if was, is, structs := w.asStructs(e, live, next); structs {
		_, plain = w.updatePlain(e, sub, was, is, manager)
	}
	before, want, after := live.DeepCopyObject(), next.DeepCopyObject().(kind.Object), next.DeepCopyObject()
	_, rejected := e.library.Update(live.DeepCopyObject(), want, manager)
	if rejected != nil {
		want.SetManagedFields(live.GetManagedFields())
		if w.rejectsPreserved(t, e, live, next, manager) {
			return live, plain
		}
	}
	w.Update(apiVersion, sub, live, next, manager)
	if diff := cmp.Diff(formatEntries(want), formatEntries(next)); diff != "" {
		t.Fatalf("%s writes %s\n%s\nto\n%s\nthe results differ (-library +ours):\n%s", manager, sub,
			formatObject(t, after),
			formatObject(t, before), diff)
	}
	next.SetManagedFields(want.GetManagedFields())
	if !reflect.DeepEqual(before, live) || formatObject(t, next) != formatObject(t, want) {
		t.Fatalf("the update modified the stored object:\n%s", cmp.Diff(before, live))
	}
	if rejected != nil { // validation would reject the object: an item of a list lacks its key
		next = live
	}
	return next, plain
}

// rejectsPreserved reports whether the library rejects an object only for the part that the endpoint takes over from
// the stored one: an item of a list there lacks its key. The server has restored that part before it computes the
// owners.
func (w *applier) rejectsPreserved(t *testing.T, e *endpoint, live, next kind.Object, manager string) bool {
	if e.preserved == "" {
		return false
	}
	content := asMap(t, next)
	delete(content, e.preserved)
	if part, found := asMap(t, live)[e.preserved]; found {
		content[e.preserved] = part
	}
	restored := w.kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, restored); err != nil {
		t.Fatal(err)
	}
	_, err := e.library.Update(live.DeepCopyObject(), restored, manager)
	return err == nil
}

// changedStruct returns an object with some changes, sometimes including its managedFields.
func (w *applier) changedStruct(t *testing.T, live kind.Object) kind.Object {
	content := asMap(t, live)
	for _, name := range []string{"spec", "status", "data", "rules", "webhooks"} {
		if v, found := content[name]; found && w.random.Intn(3) == 0 {
			content[name] = w.part(v)
		}
	}
	if labels, ok := content["metadata"].(map[string]any)["labels"]; ok && w.random.Intn(3) == 0 {
		content["metadata"].(map[string]any)["labels"] = w.part(labels)
	}
	for range w.random.Intn(3) {
		for _, name := range []string{"spec", "status"} {
			if part, ok := content[name].(map[string]any); ok && len(part) > 0 {
				w.edit(part)
			}
		}
	}
	next := w.kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, next); err != nil {
		next = live.DeepCopyObject().(kind.Object)
	}
	next.SetManagedFields(live.GetManagedFields())
	switch w.random.Intn(12) {
	case 0:
		next.SetManagedFields([]metav1.ManagedFieldsEntry{})
	case 1:
		next.SetManagedFields(nil)
	case 2:
		next.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: "x", Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: live.GetObjectKind().GroupVersionKind().GroupVersion().String(),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:managedFields":{},"f:labels":{}}}`),
		}})
	}
	return next
}

func formatEntries(obj kind.Object) (lines []string) {
	for _, e := range obj.GetManagedFields() {
		fields := ""
		if e.FieldsV1 != nil {
			fields = e.FieldsV1.GetRawString()
		}
		lines = append(lines, fmt.Sprintf("%s %s/%s %s %v %s", e.Manager, e.Operation, e.Subresource, e.APIVersion,
			e.Time, fields))
	}
	return lines
}
