package ownership

import (
	"bytes"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/bowline-dev/bowline/internal/kind"
)

// withoutRemoved returns a custom resource whose owners all have a version of its definition. Owners in removed
// versions become owners in the version of the endpoint, of the fields with the same paths. Otherwise the library would
// drop these owners, and an apply could not remove the fields that its manager had applied in a removed version.
// Kubernetes rejects the apply. withoutRemoved does not modify obj, and returns obj itself if nothing has to change.
func (o *Owners) withoutRemoved(e *endpoint, obj kind.Object) kind.Object {
	u, custom := obj.(*unstructured.Unstructured)
	if !custom || u == nil || !o.hasRemoved(e, u) {
		return obj
	}
	var entries []metav1.ManagedFieldsEntry
	for _, entry := range Entries(u) {
		if o.isRemoved(e, entry.APIVersion) {
			entry.APIVersion = e.gvk.GroupVersion().String()
		}
		entries = mergeEntry(entries, entry)
	}
	moved := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	moved.Object["metadata"] = maps.Clone(u.Object["metadata"].(map[string]any))
	SetEntries(moved, entries)
	return moved
}

// hasRemoved reports whether an entry of managedFields has a version that the kind does not have. It decodes nothing.
func (o *Owners) hasRemoved(e *endpoint, u *unstructured.Unstructured) bool {
	meta, _ := u.Object["metadata"].(map[string]any)
	items, _ := meta["managedFields"].([]any)
	for _, item := range items {
		entry, _ := item.(map[string]any)
		if version, _ := entry["apiVersion"].(string); o.isRemoved(e, version) {
			return true
		}
	}
	return false
}

// isRemoved reports whether a version of an entry is not one of the kind.
func (o *Owners) isRemoved(e *endpoint, apiVersion string) bool {
	if apiVersion == "" || apiVersion == e.gvk.GroupVersion().String() {
		return false
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Group != e.gvk.Group {
		return false
	}
	_, known := o.form.kind(gv)
	return !known
}

// mergeEntry appends an entry, or adds its fields to one of the same owner in the same version: the library takes only
// one of them into account.
func mergeEntry(entries []metav1.ManagedFieldsEntry, added metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for i := range entries {
		same := &entries[i]
		if !sameOwner(*same, added) || same.APIVersion != added.APIVersion {
			continue
		}
		if same.FieldsV1 == nil || added.FieldsV1 == nil {
			continue
		}
		var a, b fieldpath.Set
		if a.FromJSON(bytes.NewReader(same.FieldsV1.GetRawBytes())) != nil ||
			b.FromJSON(bytes.NewReader(added.FieldsV1.GetRawBytes())) != nil || !setFields(same, a.Union(&b)) {
			continue
		}
		if same.Time.Before(added.Time) {
			same.Time = added.Time
		}
		return entries
	}
	return append(entries, added)
}
