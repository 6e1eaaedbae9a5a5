package kind

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
)

// Prepare implements Kind.
//
// Where the status is a subresource a create starts without one, an update keeps the old one, and a write of the status
// keeps all but the status, labels, annotations, finalizers, managed fields and resourceVersion. Kinds that count the
// generation start at 1, and add one for each change beside the metadata and the status.
func (k *Typed[T, P]) Prepare(obj, old Object, sub string) {
	p, was := obj.(P), k.orNil(old)
	k.prepareStatus(p, was, sub)
	if k.info.Generation {
		k.countGeneration(p, was)
	}
	if k.rules.Prepare != nil {
		k.rules.Prepare(p, was, sub)
	}
}

func (k *Typed[T, P]) prepareStatus(obj, old P, sub string) {
	if k.info.Subresource("status") == nil {
		return
	}
	status := reflect.ValueOf(obj).Elem().FieldByName("Status")
	switch {
	case old == nil:
		status.SetZero()
	case sub == "status":
		keep := reflect.ValueOf(old.DeepCopyObject()).Elem()
		keep.FieldByName("Status").Set(status)
		meta := obj.DeepCopyObject().(P)
		reflect.ValueOf(obj).Elem().Set(keep)
		obj.SetLabels(meta.GetLabels())
		obj.SetAnnotations(meta.GetAnnotations())
		obj.SetFinalizers(meta.GetFinalizers())
		obj.SetManagedFields(meta.GetManagedFields())
		obj.SetResourceVersion(meta.GetResourceVersion())
	default:
		status.Set(reflect.ValueOf(old.DeepCopyObject()).Elem().FieldByName("Status"))
	}
}

func (k *Typed[T, P]) countGeneration(obj, old P) {
	if old == nil {
		obj.SetGeneration(1)
		return
	}
	obj.SetGeneration(old.GetGeneration())
	if !equality.Semantic.DeepEqual(declared(obj), declared(old)) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// declared are the parts of an object that the generation counts the changes of.
func declared(obj any) []any {
	v := reflect.ValueOf(obj).Elem()
	var parts []any
	for i := range v.NumField() {
		switch v.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			parts = append(parts, v.Field(i).Interface())
		}
	}
	return parts
}
