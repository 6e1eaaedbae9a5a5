package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// besideOwnership is a custom resource with its ownership beside its maps, where the library reads and writes it without
// going over them, and does not compare it as a part of the object.
type besideOwnership struct {
	*unstructured.Unstructured
	entries []metav1.ManagedFieldsEntry
}

// GetManagedFields implements metav1.Object.
func (b *besideOwnership) GetManagedFields() []metav1.ManagedFieldsEntry { return b.entries }

// SetManagedFields implements metav1.Object.
func (b *besideOwnership) SetManagedFields(entries []metav1.ManagedFieldsEntry) { b.entries = entries }

func (b *besideOwnership) ownership() []metav1.ManagedFieldsEntry { return b.entries }

func (b *besideOwnership) typed(t *typed.ParseableType) (*typed.TypedValue, error) {
	return t.FromUnstructured(b.Object, typed.AllowDuplicates)
}

// besideOwnership is a custom resource so, before and after a write. plain is false for other objects, and for those whose
// ownership is of several versions: the library then converts the objects.
func (e *endpoint) besideOwnership(before, after runtime.Object) (was, is *besideOwnership, plain bool) {
	old, ok := e.beside(before)
	if !ok {
		return nil, nil, false
	}
	next, ok := e.beside(after)
	if !ok {
		return nil, nil, false
	}
	if len(old.entries) > 0 { // ownership goes with the write, and what is owned of it: the library finds that out by comparing
		old.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{}}
	}
	return old, next, true
}

func (e *endpoint) beside(obj runtime.Object) (*besideOwnership, bool) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, false
	}
	entries, plain := plainEntries(u)
	if !plain {
		return nil, false
	}
	for _, entry := range entries {
		if entry.APIVersion != e.gvk.GroupVersion().String() {
			return nil, false
		}
	}
	return &besideOwnership{withoutOwnership(u).(*unstructured.Unstructured), entries}, true
}
