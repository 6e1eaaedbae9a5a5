package ownership

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
)

// create sets the ownership of a new object, whose manager owns all of its fields. One walk over the object
// computes them, where the library compares the object with an empty one. create returns false, and changes
// nothing, if the object needs the library.
func (o *Owners) create(apiVersion string, obj kind.Object, manager string) bool {
	e, err := o.endpoint(apiVersion, "")
	if err != nil || len(obj.GetManagedFields()) > 0 {
		return false
	}
	versioned, err := o.form.convert(obj, apiVersion)
	if err != nil {
		return false
	}
	t, err := o.typeOf(e.gvk)
	if err != nil {
		return false
	}
	fields, ok := fieldsOf(t, valueOf(o.form.empty(e.gvk)), valueOf(versioned), e.kept)
	if !ok {
		return false
	}
	if fields == nil {
		obj.SetManagedFields(nil)
		return true
	}
	if manager == "" {
		manager = "unknown"
	}
	now := metav1.NewTime(time.Now().UTC())
	SetEntries(obj, []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: apiVersion, Time: &now,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields)),
	}})
	return true
}

func valueOf(obj runtime.Object) reflect.Value {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return reflect.ValueOf(u.Object)
	}
	return reflect.ValueOf(obj)
}
