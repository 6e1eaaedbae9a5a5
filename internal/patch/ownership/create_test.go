package ownership

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestCreateMatchesLibrary fills objects of every kind at random, and compares the ownership that
// create computes with that of the library.
func TestCreateMatchesLibrary(t *testing.T) {
	t.Parallel()
	const seed, each = 7, 30
	fill := filler(seed).NumElements(0, 2)
	for _, k := range builtin.Kinds(object.NewCache(0)) {
		walked := 0
		for range each {
			obj := filled(fill, k)
			gvk := obj.GetObjectKind().GroupVersionKind()
			want := obj.DeepCopyObject().(kind.Object)
			o := New(k)
			if !o.create(gvk.GroupVersion().String(), obj, "m") {
				continue
			}
			walked++
			if err := o.update(gvk.GroupVersion().String(), "", nil, want, "m"); err != nil {
				t.Errorf("%s: the library rejects the object: %v", gvk.Kind, err)
				continue
			}
			if got, want := owned(t, obj), owned(t, want); got != want {
				t.Fatalf("%s: create computed\n%s\nbut the library\n%s", gvk.Kind, got, want)
			}
		}
		t.Logf("%s: create handled %d of %d objects", k.Info().Kind, walked, each)
		switch k.Info().Kind {
		case "ControllerRevision": // its data may be any object, which only the library handles
			continue
		case "RoleBinding", "ClusterRoleBinding": // only the library compares a roleRef, which is owned as a whole
			continue
		}
		if walked < each/4 {
			t.Errorf("%s: create handled only %d of %d objects", k.Info().Kind, walked, each)
		}
	}
}

// owned formats the fields that the only manager owns.
func owned(t *testing.T, obj runtime.Object) string {
	entries := obj.(metav1.Object).GetManagedFields()
	if len(entries) == 0 {
		return ""
	}
	e := entries[0]
	if len(entries) != 1 || e.Manager != "m" || e.Operation != metav1.ManagedFieldsOperationUpdate ||
		e.FieldsType != "FieldsV1" || e.Time == nil {
		t.Fatalf("%+v", entries)
	}
	return e.APIVersion + string(e.FieldsV1.GetRawBytes())
}
