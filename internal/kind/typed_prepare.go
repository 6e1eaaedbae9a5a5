package kind

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
)

// Prepare implements Kind.
//
// For kinds with a status subresource, a create clears the status, an update restores the old one, and a
// write of the status restores everything but the status, labels, annotations, finalizers, managed fields and
// resourceVersion. For kinds with Info.Generation, the generation starts at 1 and increases with each change
// outside the metadata and the status.
func (k *Typed[T, P]) Prepare(obj, old Object, sub string) {
	p, was := obj.(P), orNil[T, P](old)
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
		*obj = *withoutStatus(old)
		status.Set(reflect.ValueOf(sent).Elem().FieldByName("Status"))
		obj.SetLabels(sent.GetLabels())
		obj.SetAnnotations(sent.GetAnnotations())
		obj.SetFinalizers(sent.GetFinalizers())
		obj.SetManagedFields(sent.GetManagedFields())
		obj.SetResourceVersion(sent.GetResourceVersion())
	default:
		only := reflect.ValueOf(P(new(T))).Elem()
		only.FieldByName("Status").Set(reflect.ValueOf(old).Elem().FieldByName("Status"))
		preserved := only.Addr().Interface().(Object).DeepCopyObject()
		status.Set(reflect.ValueOf(preserved).Elem().FieldByName("Status"))
	}
}

// withoutStatus copies an object without the fields that a write of its status sets.
func withoutStatus[T any, P Pointer[T]](old P) P {
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
		return // prepareStatus has restored the rest
	}
	if !equality.Semantic.DeepEqual(declaredFields(obj), declaredFields(old)) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// declaredFields returns pointers to the fields of an object whose changes increase the generation.
func declaredFields(obj any) []any {
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
