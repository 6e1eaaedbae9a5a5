package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// detachedObject is a custom resource whose managedFields are held outside its map, so that the map is compared without
// them.
type detachedObject struct {
	*unstructured.Unstructured
	entries []metav1.ManagedFieldsEntry
}

func (b *detachedObject) ownership() []metav1.ManagedFieldsEntry { return b.entries }

func (b *detachedObject) typed(t *typed.ParseableType) (*typed.TypedValue, error) {
	return t.FromUnstructured(b.Object, typed.AllowDuplicates)
}

// detach returns a custom resource before and after a write as detachedObjects. It returns false for other objects,
// and for objects with owners in several versions, which the library has to convert.
func (e *endpoint) detach(before, after runtime.Object) (was, is *detachedObject, detached bool) {
	old, ok := e.detachOne(before)
	if !ok {
		return nil, nil, false
	}
	next, ok := e.detachOne(after)
	if !ok {
		return nil, nil, false
	}
	if len(old.entries) > 0 { // the comparison detects whether a write removes managedFields, and ownership of them
		old.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{}}
	}
	return old, next, true
}

func (e *endpoint) detachOne(obj runtime.Object) (*detachedObject, bool) {
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
	return &detachedObject{withoutOwnership(u).(*unstructured.Unstructured), entries}, true
}
