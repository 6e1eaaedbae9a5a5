package ownership

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/bowline-dev/bowline/internal/kind"
)

// stripped are the fields that the library never records as owned, because all objects have them.
var stripped = fieldpath.NewSet(
	dotted("apiVersion"), dotted("kind"), dotted("metadata"),
	dotted("metadata.name"), dotted("metadata.namespace"), dotted("metadata.uid"), dotted("metadata.resourceVersion"),
	dotted("metadata.generation"), dotted("metadata.creationTimestamp"), dotted("metadata.selfLink"),
	dotted("metadata.clusterName"), dotted("metadata.managedFields"),
)

// applyPlain implements Apply for a document that contains at least the fields of its manager's previous
// document, and changes no field of another manager. Nothing has to be removed then, which makes most of the
// library's walks over the object unnecessary. ok is false for other documents and for errors; then the
// caller must use the library.
func (o *Owners) applyPlain(e *endpoint, sub string, live kind.Object, document *unstructured.Unstructured,
	manager string) (
	after runtime.Object, ok bool,
) {
	if live == nil || document.GroupVersionKind() != e.gvk || manager == "" || needsLibrary(live, document, manager) {
		return nil, false
	}
	t, err := o.typeOf(e.gvk)
	if err != nil {
		return nil, false
	}
	c, ok := o.parseOwners(t, e, sub, live.GetManagedFields(), manager)
	if !ok {
		return nil, false
	}
	applied, err := t.FromUnstructured(document.Object)
	if err != nil {
		return nil, false
	}
	set, err := applied.ToFieldSet()
	if err != nil {
		return nil, false
	}
	if e.filter != nil {
		set = e.filter.Filter(set)
	}
	set = set.Difference(stripped)
	if c.mine >= 0 && !c.sets[c.mine].Difference(set).Empty() {
		return nil, false
	}
	merged, same, ok := o.mergePlain(t, e, c, live, applied)
	if !ok {
		return nil, false
	}
	return c.result(e, sub, live, merged, set, same, manager)
}

// needsLibrary reports whether an apply also updates kubectl's annotation, or its document contains
// managedFields.
func needsLibrary(live kind.Object, document *unstructured.Unstructured, manager string) bool {
	meta, _ := document.Object["metadata"].(map[string]any)
	if _, applied := meta["managedFields"]; applied {
		return true
	}
	const annotation = corev1.LastAppliedConfigAnnotation
	return manager == "kubectl" && (live.GetAnnotations()[annotation] != "" ||
		document.GetAnnotations()[annotation] != "")
}

// mergePlain merges a document into live, without managedFields. ok is false if that removes fields or causes
// a conflict.
func (o *Owners) mergePlain(t *typed.ParseableType, e *endpoint, c *owners, live kind.Object,
	applied *typed.TypedValue) (
	merged *typed.TypedValue, same, ok bool,
) {
	shown, err := o.inVersion(e, withoutOwnership(live))
	if err != nil {
		return nil, false, false
	}
	before, err := adapter{o}.ConvertToVersion(shown, e.gvk.GroupVersion())
	if err != nil || before.GetObjectKind().GroupVersionKind() != e.gvk {
		return nil, false, false
	}
	was, err := typedAsStored(t, before)
	if err != nil {
		return nil, false, false
	}
	if merged, err = was.Merge(applied); err != nil {
		return nil, false, false
	}
	changes, err := was.Compare(merged)
	if err != nil {
		return nil, false, false
	}
	same = changes.IsSame() && value.EqualsUsing(value.NewFreelistAllocator(), was.AsValue(), merged.AsValue())
	changes = changes.FilterFields(e.filter)
	return merged, same, changes.Removed.Empty() && !c.othersOwn(changes.Modified.Union(changes.Added))
}

// typedAsStored returns a stored object with its schema. It does not validate a struct, because the schema was
// generated from the same Go type.
func typedAsStored(t *typed.ParseableType, obj runtime.Object) (*typed.TypedValue, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return t.FromUnstructured(u.Object, typed.AllowDuplicates)
	}
	v, err := value.NewValueReflect(obj)
	if err != nil {
		return nil, err
	}
	return typed.AsTypedUnvalidated(v, t.Schema, t.TypeRef),
		nil //lint:ignore SA1019 validation takes a quarter of the time here
}

// withoutOwnership returns a copy of an object without managedFields, which shares everything else.
func withoutOwnership(obj kind.Object) kind.Object {
	u, isMap := obj.(*unstructured.Unstructured)
	if !isMap {
		bare := reflect.New(reflect.TypeOf(obj).Elem())
		bare.Elem().Set(reflect.ValueOf(obj).Elem())
		out := bare.Interface().(kind.Object)
		out.SetManagedFields(nil)
		return out
	}
	out := make(map[string]any, len(u.Object))
	for name, v := range u.Object {
		out[name] = v
	}
	if meta, ok := u.Object["metadata"].(map[string]any); ok {
		bare := make(map[string]any, len(meta))
		for name, v := range meta {
			if name != "managedFields" {
				bare[name] = v
			}
		}
		out["metadata"] = bare
	}
	return &unstructured.Unstructured{Object: out}
}

// result returns the result of an apply with its managedFields. If the document changes nothing, this is
// live, and if it changes only the managedFields, a copy of live.
func (c *owners) result(e *endpoint, sub string, live kind.Object, merged *typed.TypedValue, set *fieldpath.Set,
	same bool,
	manager string,
) (runtime.Object, bool) {
	known := c.mine >= 0 && c.sets[c.mine].Equals(set)
	if same && known {
		return live, true
	}
	mine := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: e.gvk.GroupVersion().String(),
		FieldsType: "FieldsV1", Subresource: sub,
	}
	if known {
		mine.FieldsV1 = c.entries[c.mine].FieldsV1
	} else {
		text, err := set.ToJSON()
		if err != nil || set.Empty() {
			return nil, false
		}
		mine.FieldsV1 = metav1.NewFieldsV1(string(text))
	}
	if !same {
		mine.Time = now()
	} else if c.mine >= 0 {
		mine.Time = c.entries[c.mine].Time
	}
	var out kind.Object
	if same {
		out = live.DeepCopyObject().(kind.Object)
	} else {
		content, ok := merged.AsValue().Unstructured().(map[string]any)
		if !ok {
			return nil, false
		}
		out = &unstructured.Unstructured{Object: content}
	}
	out.SetManagedFields(c.with(mine))
	return out, true
}
