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

// withoutRemoved returns a custom resource whose managedFields all have a version of its definition. Entries in a
// removed version move to the version of the endpoint, with the same paths. Otherwise the library would drop these
// owners, and an apply could not remove the fields that its manager had applied in a removed version. Kubernetes
// rejects such an apply. withoutRemoved does not modify obj, and returns obj itself if nothing has to change.
func (o *Owners) withoutRemoved(e *endpoint, obj kind.Object) kind.Object {
	u, custom := obj.(*unstructured.Unstructured)
	if !custom || u == nil || !o.hasRemoved(e, u) {
		return obj
	}
	entries := Entries(u)
	for i := range entries {
		if o.isRemoved(e, entries[i].APIVersion) {
			entries[i].APIVersion = e.gvk.GroupVersion().String()
		}
	}
	moved := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	moved.Object["metadata"] = maps.Clone(u.Object["metadata"].(map[string]any))
	SetEntries(moved, mergeEntries(entries))
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

// isRemoved reports whether apiVersion is a version of the kind's group that the kind does not have.
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

// ownerVersion identifies the entries of which the library takes only one into account.
type ownerVersion struct{ manager, operation, subresource, apiVersion string }

// mergeEntries merges the entries of one owner in one version. Clients write managedFields, so there may be very many.
func mergeEntries(entries []metav1.ManagedFieldsEntry) (merged []metav1.ManagedFieldsEntry) {
	at := map[ownerVersion]int{} // the index in merged
	var sets [][]*fieldpath.Set  // of each merged entry
	for _, entry := range entries {
		owner := ownerVersion{entry.Manager, string(entry.Operation), entry.Subresource, entry.APIVersion}
		i, found := at[owner]
		if !found {
			i = len(merged)
			at[owner], merged, sets = i, append(merged, entry), append(sets, nil)
		}
		if merged[i].Time.Before(entry.Time) {
			merged[i].Time = entry.Time
		}
		set := new(fieldpath.Set)
		if entry.FieldsV1 != nil && set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) == nil {
			sets[i] = append(sets[i], set)
		}
	}
	for i := range merged {
		if len(sets[i]) > 0 {
			setFields(&merged[i], union(sets[i]))
		}
	}
	return merged
}

// union unites sets in pairs, so that n small sets do not cost n².
func union(sets []*fieldpath.Set) *fieldpath.Set {
	if len(sets) == 1 {
		return sets[0]
	}
	half := len(sets) / 2
	return union(sets[:half]).Union(union(sets[half:]))
}
