package ownership

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// maxManagers is the number of managers from which the library counts updating managers, and merges the
// oldest ones.
const maxManagers = 10

// compared is an object to compare, with separate managedFields.
type compared interface {
	// ownership returns the managedFields, or nil if the object has none.
	ownership() []metav1.ManagedFieldsEntry
	// typed returns the object without managedFields.
	typed(t *typed.ParseableType) (*typed.TypedValue, error)
}

// updatePlain implements the library's Update for an object whose managedFields are those of the stored one.
// It parses only unknown field sets, and encodes only changed ones. ok is false if the caller must use the
// library.
func (o *Owners) updatePlain(
	e *endpoint, sub string, was, is compared, manager string,
) (entries []metav1.ManagedFieldsEntry, ok bool) {
	before, after := was.ownership(), is.ownership()
	explicit := sub == "" && after != nil
	if len(before) == 0 || len(before) >= maxManagers || explicit && !slices.EqualFunc(before, after, sameEntry) {
		return nil, false
	}
	t, err := o.typeOf(e.gvk)
	if err != nil {
		return nil, false
	}
	c, ok := o.parseOwners(t, e, sub, before, manager)
	if !ok {
		return nil, false
	}
	changes, err := compare(t, was, is)
	if err != nil {
		return nil, false
	}
	if manager == "" {
		manager = "unknown"
	}
	return c.updated(e, changes, metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: e.gvk.GroupVersion().String(),
		FieldsType: "FieldsV1", Subresource: sub,
	})
}

// compare compares an object before and after a write.
func compare(t *typed.ParseableType, was, is compared) (*typed.Comparison, error) {
	before, err := was.typed(t)
	if err != nil {
		return nil, err
	}
	after, err := is.typed(t)
	if err != nil {
		return nil, err
	}
	return before.Compare(after)
}

func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return sameOwner(a, b) && a.APIVersion == b.APIVersion && a.FieldsType == b.FieldsType && a.Time.Equal(b.Time) &&
		(a.FieldsV1 == nil) == (b.FieldsV1 == nil) && (a.FieldsV1 == nil || a.FieldsV1.Equal(*b.FieldsV1))
}

// updated returns the entries after an update: its manager exclusively owns the fields that it changed, and
// removed fields have no owner.
func (c *owners) updated(e *endpoint, changes *typed.Comparison, mine metav1.ManagedFieldsEntry) (
	entries []metav1.ManagedFieldsEntry, ok bool,
) {
	changes = changes.FilterFields(e.filter)
	taken := changes.Modified.Union(changes.Added)
	gains := taken.Difference(stripped)
	for i, entry := range c.entries {
		left := without(without(c.sets[i], taken), changes.Removed)
		if sameOwner(entry, mine) && !gains.Empty() {
			gains = gains.Union(left) // added to the manager's entry below
			continue
		}
		if left.Empty() {
			continue
		}
		if left != c.sets[i] && !setFields(&entry, left) {
			return nil, false
		}
		entries = append(entries, entry)
	}
	if !gains.Empty() {
		mine.Time = now()
		if !setFields(&mine, gains) {
			return nil, false
		}
		entries = append(entries, mine)
	}
	sortEntries(entries)
	return entries, true
}

// without returns set without the elements of other; if they are disjoint, set itself.
func without(set, other *fieldpath.Set) *fieldpath.Set {
	if set.Intersection(other).Empty() {
		return set
	}
	return set.Difference(other)
}

// setFields encodes a set into an entry.
func setFields(e *metav1.ManagedFieldsEntry, set *fieldpath.Set) bool {
	text, err := set.ToJSON()
	if err != nil {
		return false
	}
	e.FieldsV1 = &metav1.FieldsV1{}
	e.FieldsV1.SetRawBytes(text)
	return true
}
