package controller

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/why"
)

// about returns a cause of a kind that refers to an object.
func about(kind why.Kind, resource schema.GroupResource, obj client.Object) why.Cause {
	return why.Cause{
		Kind:     kind,
		Object:   why.ObjectOf(resource, obj.GetNamespace(), obj.GetName()),
		UID:      obj.GetUID(),
		Revision: revisionOf(obj),
	}
}

// additionOf returns the cause for a new object.
func additionOf(resource schema.GroupResource, obj client.Object) why.Cause {
	cause := about(why.Changed, resource, obj)
	cause.Change, cause.By = why.Added, writerOf(nil, managers(obj))
	return cause
}

// updateOf returns the cause for an update, or for a resync if the revisions are equal.
func updateOf(resource schema.GroupResource, old, new client.Object) why.Cause {
	cause := about(why.Changed, resource, new)
	cause.Since = revisionOf(old)
	switch {
	case cause.Revision == cause.Since:
		return about(why.Resynced, resource, new)
	case old.GetDeletionTimestamp() == nil && new.GetDeletionTimestamp() != nil:
		cause.Change = why.Ending // setting deletionTimestamp leaves managedFields unchanged
	default:
		cause.Change, cause.By = why.Updated, writerOf(managers(old), managers(new))
	}
	return cause
}

// deletionOf returns the cause for a deleted object.
func deletionOf(resource schema.GroupResource, obj client.Object) why.Cause {
	cause := about(why.Changed, resource, obj)
	cause.Change = why.Deleted
	return cause
}

// revisionOf returns the revision of an object, or 0 if its resourceVersion is not a number.
func revisionOf(obj client.Object) object.Revision {
	revision, err := object.ParseRevision(obj.GetResourceVersion())
	if err != nil {
		return 0
	}
	return revision
}

// managers returns the managed fields of an object, or nil for an unstructured one, for which they would have
// to be copied.
func managers(obj client.Object) []metav1.ManagedFieldsEntry {
	if _, copies := obj.(*unstructured.Unstructured); copies {
		return nil
	}
	return obj.GetManagedFields()
}

// writerOf returns the manager that wrote last, or "" if it is not known. Of the entries that were added or have another
// time, it returns the newest; if there are none, the newest entry with changed fields: its manager wrote twice within
// a second, or lost fields to the writer. A write of a scale leaves an entry without a time, as in Kubernetes.
func writerOf(before, after []metav1.ManagedFieldsEntry) string {
	var writer, changed *metav1.ManagedFieldsEntry
	for k := range after {
		e := &after[k]
		newest := &writer
		sameWrite := func(b metav1.ManagedFieldsEntry) bool { return sameWriter(&b, e) }
		if i := slices.IndexFunc(before, sameWrite); i >= 0 && e.Time.Equal(before[i].Time) {
			newest = &changed
			if sameFields(&before[i], e) {
				continue
			}
		}
		if *newest == nil || (*newest).Time.IsZero() || (*newest).Time.Before(e.Time) {
			*newest = e
		}
	}
	last := cmp.Or(writer, changed)
	if last == nil || last.Manager == "unknown" { // the server's name for a client without a user agent
		return ""
	}
	return last.Manager
}

func sameWriter(a, b *metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
}

func sameFields(a, b *metav1.ManagedFieldsEntry) bool {
	return (a.FieldsV1 == nil) == (b.FieldsV1 == nil) && (a.FieldsV1 == nil || a.FieldsV1.Equal(*b.FieldsV1))
}
