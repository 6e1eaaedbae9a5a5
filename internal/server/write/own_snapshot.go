package write

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/kind"
)

// ownershipSnapshot is a snapshot of an object's ownership, to detect later whether it was changed.
// GetManagedFields of a custom resource decodes everything in it, so its maps are compared instead: each
// entry by its items, and the field set of an entry by the identity of its map.
type ownershipSnapshot struct {
	entries []metav1.ManagedFieldsEntry
	items   []map[string]any
}

func snapshotOwnership(obj kind.Object) ownershipSnapshot {
	raw, ok := rawOwnership(obj)
	if !ok {
		entries := slices.Clone(obj.GetManagedFields())
		for i := range entries {
			entries[i].FieldsV1 = entries[i].FieldsV1.DeepCopy()
		}
		return ownershipSnapshot{entries: entries}
	}
	var seen ownershipSnapshot
	for _, entry := range raw {
		items, _ := entry.(map[string]any)
		seen.items = append(seen.items, maps.Clone(items))
	}
	return seen
}

// rawOwnership returns the undecoded ownership of a custom resource, or nil if it is absent or malformed. ok
// is false for other objects.
func rawOwnership(obj kind.Object) (entries []any, ok bool) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, false
	}
	found, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	entries, _ = found.([]any)
	return entries, true
}

// matches reports whether an object's ownership equals the snapshot. A false result is inconclusive; the
// caller runs the full check.
func (s ownershipSnapshot) matches(obj kind.Object) bool {
	raw, ok := rawOwnership(obj)
	if !ok {
		return slices.EqualFunc(s.entries, obj.GetManagedFields(), sameEntry)
	}
	return slices.EqualFunc(s.items, raw, func(was map[string]any, entry any) bool {
		is, ok := entry.(map[string]any)
		return ok && maps.EqualFunc(was, is, sameItem)
	})
}

func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	if a.FieldsV1 == nil || b.FieldsV1 == nil || !a.FieldsV1.Equal(*b.FieldsV1) {
		return a == b
	}
	a.FieldsV1, b.FieldsV1 = nil, nil
	return a == b
}

// sameItem compares maps by identity and strings by value.
func sameItem(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
	case string:
		return a == b
	}
	return false
}

// restore sets an object's ownership to the snapshot.
func (s ownershipSnapshot) restore(obj kind.Object) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		obj.SetManagedFields(s.entries)
		return
	}
	if s.items == nil {
		u.SetManagedFields(nil)
		return
	}
	entries := make([]any, len(s.items))
	for i, items := range s.items {
		entries[i] = items
	}
	if meta, ok := u.Object["metadata"].(map[string]any); ok {
		meta["managedFields"] = entries
	}
}

// thinOwnership is a custom resource whose GetManagedFields leaves out the field sets, which the validation of
// metadata does not read.
type thinOwnership struct {
	kind.Object
	entries []metav1.ManagedFieldsEntry
}

// GetManagedFields implements metav1.Object.
func (l thinOwnership) GetManagedFields() []metav1.ManagedFieldsEntry { return l.entries }

// withoutFieldSets returns the object, or a thinOwnership of it, for the validation of its metadata.
func withoutFieldSets(obj kind.Object) kind.Object {
	raw, _ := rawOwnership(obj)
	if len(raw) == 0 {
		return obj
	}
	entries := make([]metav1.ManagedFieldsEntry, len(raw))
	for i, entry := range raw {
		items, ok := entry.(map[string]any)
		var texts [4]string
		for j, name := range [...]string{"manager", "operation", "fieldsType", "subresource"} {
			if item, has := items[name]; has && ok {
				texts[j], ok = item.(string)
			}
		}
		if !ok {
			return obj
		}
		entries[i] = metav1.ManagedFieldsEntry{
			Manager: texts[0], Operation: metav1.ManagedFieldsOperationType(texts[1]), FieldsType: texts[2],
			Subresource: texts[3],
		}
	}
	return thinOwnership{obj, entries}
}
