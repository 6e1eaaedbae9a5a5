package ownership

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// mostManagers is how many managers an object may have before the library counts those that update it, and makes the oldest one.
const mostManagers = 10

// compared is an object that the library compares with another one: its ownership stands beside it.
type compared interface {
	// ownership is who owns what of it; nil for an object that says nothing of that.
	ownership() []metav1.ManagedFieldsEntry
	// typed is the rest of it.
	typed(t *typed.ParseableType) (*typed.TypedValue, error)
}

// updatePlain is the library's Update of an object whose ownership is that of the stored one: it reads no set of fields again
// that it knows, and writes none that stays as it is. ok is false where the library is to decide.
func (o *Owners) updatePlain(
	e *endpoint, sub string, was, is compared, manager string,
) (entries []metav1.ManagedFieldsEntry, ok bool) {
	before, after := was.ownership(), is.ownership()
	said := sub == "" && after != nil
	if len(before) == 0 || len(before) >= mostManagers || said && !slices.EqualFunc(before, after, sameEntry) {
		return nil, false
	}
	t, err := o.typeOf(e.gvk)
	if err != nil {
		return nil, false
	}
	c, ok := o.readClaims(t, e, sub, before, manager)
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
	return c.changed(e, changes, metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: e.gvk.GroupVersion().String(),
		FieldsType: "FieldsV1", Subresource: sub,
	})
}

// compare finds what has changed.
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

// changed are the claims after an update: what it changed is its manager's and nobody else's, and what it took away is nobody's.
func (c *claims) changed(e *endpoint, changes *typed.Comparison, mine metav1.ManagedFieldsEntry) (
	entries []metav1.ManagedFieldsEntry, ok bool,
) {
	changes = changes.FilterFields(e.filter)
	taken := changes.Modified.Union(changes.Added)
	gains := taken.Difference(stripped)
	for i, entry := range c.entries {
		left := without(without(c.sets[i], taken), changes.Removed)
		if sameOwner(entry, mine) && !gains.Empty() {
			gains = gains.Union(left) // with which it comes below
			continue
		}
		if left.Empty() {
			continue
		}
		if left != c.sets[i] && !describe(&entry, left) {
			return nil, false
		}
		entries = append(entries, entry)
	}
	if !gains.Empty() {
		mine.Time = now()
		if !describe(&mine, gains) {
			return nil, false
		}
		entries = append(entries, mine)
	}
	inOrder(entries)
	return entries, true
}

// without is a set without what another has: itself, when it has nothing of that.
func without(set, other *fieldpath.Set) *fieldpath.Set {
	if set.Intersection(other).Empty() {
		return set
	}
	return set.Difference(other)
}

// describe writes a set into an entry.
func describe(e *metav1.ManagedFieldsEntry, set *fieldpath.Set) bool {
	text, err := set.ToJSON()
	if err != nil {
		return false
	}
	e.FieldsV1 = &metav1.FieldsV1{}
	e.FieldsV1.SetRawBytes(text)
	return true
}
