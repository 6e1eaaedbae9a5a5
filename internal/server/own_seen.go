package server

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/kind"
)

// ownershipSeen is what an object says of its ownership at one moment, to find out later whether that was written over.
// Custom resources have it as maps, which their GetManagedFields decodes at the cost of decoding all else in them: so the
// maps are compared, each entry by its items, and the fields of an entry by being the same map.
type ownershipSeen struct {
	entries []metav1.ManagedFieldsEntry
	items   []map[string]any
}

func seeOwnership(obj kind.Object) ownershipSeen {
	raw, ok := rawOwnership(obj)
	if !ok {
		entries := slices.Clone(obj.GetManagedFields())
		for i := range entries {
			entries[i].FieldsV1 = entries[i].FieldsV1.DeepCopy()
		}
		return ownershipSeen{entries: entries}
	}
	var seen ownershipSeen
	for _, entry := range raw {
		items, _ := entry.(map[string]any)
		seen.items = append(seen.items, maps.Clone(items))
	}
	return seen
}

// rawOwnership is the ownership in a custom resource, nil when there is none that can be read; ok is false for other objects.
func rawOwnership(obj kind.Object) (entries []any, ok bool) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, false
	}
	found, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	entries, _ = found.([]any)
	return entries, true
}

// stillOf says that an object's ownership is what was seen. False says nothing.
func (s ownershipSeen) stillOf(obj kind.Object) bool {
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

// sameItem compares maps by identity and texts by value.
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

// restore gives an object the ownership that was seen.
func (s ownershipSeen) restore(obj kind.Object) {
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

// light is a custom resource whose GetManagedFields leaves out which fields they are, which the rules of metadata do not
// look at.
type light struct {
	kind.Object
	entries []metav1.ManagedFieldsEntry
}

// GetManagedFields implements metav1.Object.
func (l light) GetManagedFields() []metav1.ManagedFieldsEntry { return l.entries }

// lightOwnership is an object for the rules of its metadata.
func lightOwnership(obj kind.Object) kind.Object {
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
			Manager: texts[0], Operation: metav1.ManagedFieldsOperationType(texts[1]), FieldsType: texts[2], Subresource: texts[3],
		}
	}
	return light{obj, entries}
}
