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
		k.countGeneration(p, was, sub)
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
		sent := P(new(*obj))
		*obj = *k.withoutStatus(old)
		status.Set(reflect.ValueOf(sent).Elem().FieldByName("Status"))
		obj.SetLabels(sent.GetLabels())
		obj.SetAnnotations(sent.GetAnnotations())
		obj.SetFinalizers(sent.GetFinalizers())
		obj.SetManagedFields(sent.GetManagedFields())
		obj.SetResourceVersion(sent.GetResourceVersion())
	default:
		only := reflect.ValueOf(P(new(T))).Elem()
		only.FieldByName("Status").Set(reflect.ValueOf(old).Elem().FieldByName("Status"))
		kept := only.Addr().Interface().(Object).DeepCopyObject()
		status.Set(reflect.ValueOf(kept).Elem().FieldByName("Status"))
	}
}

// withoutStatus is a copy of an object but for what a write of its status brings itself.
func (k *Typed[T, P]) withoutStatus(old P) P {
	bare := P(new(*old))
	reflect.ValueOf(bare).Elem().FieldByName("Status").SetZero()
	bare.SetLabels(nil)
	bare.SetAnnotations(nil)
	bare.SetFinalizers(nil)
	bare.SetManagedFields(nil)
	return bare.DeepCopyObject().(P)
}

func (k *Typed[T, P]) countGeneration(obj, old P, sub string) {
	if old == nil {
		obj.SetGeneration(1)
		return
	}
	obj.SetGeneration(old.GetGeneration())
	if sub == "status" && k.info.Subresource(sub) != nil {
		return // prepareStatus has kept the rest
	}
	if !equality.Semantic.DeepEqual(declared(obj), declared(old)) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// declared are pointers to the parts of an object that the generation counts the changes of.
func declared(obj any) []any {
	v := reflect.ValueOf(obj).Elem()
	var parts []any
	for i := range v.NumField() {
		switch v.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			parts = append(parts, v.Field(i).Addr().Interface())
		}
	}
	return parts
}
