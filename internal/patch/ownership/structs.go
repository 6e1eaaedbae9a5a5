package ownership

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/bowline-dev/bowline/internal/kind"
)

// structObject is an object with a Go type whose managedFields are held separately. Fields that a write
// cannot own are removed: they may be most of the object, as the spec is for a write of the status.
type structObject struct {
	runtime.Object
	entries []metav1.ManagedFieldsEntry
}

func (s structObject) ownership() []metav1.ManagedFieldsEntry { return s.entries }

func (s structObject) typed(t *typed.ParseableType) (*typed.TypedValue, error) {
	return typedAsStored(t, s.Object)
}

// asStructs returns an object before and after a write as structObjects. ok is false for a new object and for one
// without a Go type.
func (o *Owners) asStructs(e *endpoint, live, obj kind.Object) (was, is structObject, ok bool) {
	if live == nil {
		return was, is, false
	}
	if was, ok = o.asStruct(e, live); !ok {
		return was, is, false
	}
	if len(was.entries) > 0 { // see detach
		was.Object.(metav1.Object).SetManagedFields(make([]metav1.ManagedFieldsEntry, 1))
	}
	if is, ok = o.asStruct(e, obj); ok {
		dropUnchanged(reflect.ValueOf(was.Object).Elem(), reflect.ValueOf(is.Object).Elem())
	}
	return was, is, ok
}

func (o *Owners) asStruct(e *endpoint, obj kind.Object) (structObject, bool) {
	if _, custom := obj.(*unstructured.Unstructured); custom {
		return structObject{}, false
	}
	bare := withoutOwnership(obj)
	zero(reflect.ValueOf(bare).Elem(), e.preserved)
	shown, err := adapter{o}.ConvertToVersion(bare, e.gvk.GroupVersion())
	if err != nil || shown.GetObjectKind().GroupVersionKind() != e.gvk {
		return structObject{}, false
	}
	if _, is := shown.(kind.Object); !is {
		return structObject{}, false
	}
	return structObject{shown, obj.GetManagedFields()}, true
}

// zero clears the field of a struct with that JSON name.
func zero(s reflect.Value, name string) {
	if name == "" {
		return
	}
	for i := range s.NumField() {
		if tagged, _, _ := strings.Cut(s.Type().Field(i).Tag.Get("json"), ","); tagged == name {
			s.Field(i).SetZero()
			return
		}
	}
}
