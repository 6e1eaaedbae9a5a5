package ownership

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// owners is the parsed ownership of a stored object.
type owners struct {
	entries []metav1.ManagedFieldsEntry
	sets    []*fieldpath.Set
	mine    int // index of the applying manager's entry, or -1
}

// parseOwners parses the ownership of a stored object. It returns false for ownership that the library must
// normalize first: none, in another version, or invalid.
func (o *Owners) parseOwners(
	t *typed.ParseableType, e *endpoint, sub string, entries []metav1.ManagedFieldsEntry, manager string,
) (*owners, bool) {
	c := &owners{entries: entries, sets: make([]*fieldpath.Set, len(entries)), mine: -1}
	for i, entry := range entries {
		if entry.APIVersion != e.gvk.GroupVersion().String() || entry.FieldsType != "FieldsV1" ||
			entry.FieldsV1 == nil {
			return nil, false
		}
		switch entry.Operation {
		case metav1.ManagedFieldsOperationApply:
			if entry.Manager == manager && entry.Subresource == sub {
				c.mine = i
			}
		case metav1.ManagedFieldsOperationUpdate:
		default:
			return nil, false
		}
		if slices.ContainsFunc(entries[:i], func(other metav1.ManagedFieldsEntry) bool {
			return sameOwner(entry, other)
		}) {
			return nil, false
		}
		var ok bool
		if c.sets[i], ok = o.fields.read(t, entry.FieldsV1); !ok {
			return nil, false
		}
	}
	return c, len(entries) > 0
}

func sameOwner(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
}

// othersOwn reports whether another manager owns one of the fields.
func (c *owners) othersOwn(fields *fieldpath.Set) bool {
	for i, set := range c.sets {
		if i != c.mine && !set.Intersection(fields).Empty() {
			return true
		}
	}
	return false
}

// with returns the entries with the applying manager's replaced or added.
func (c *owners) with(mine metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	entries := slices.Clone(c.entries)
	if c.mine >= 0 {
		entries[c.mine] = mine
	} else {
		entries = append(entries, mine)
	}
	sortEntries(entries)
	return entries
}

// sortEntries sorts entries in the library's order.
func sortEntries(entries []metav1.ManagedFieldsEntry) {
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(seconds(a.Time), seconds(b.Time)),
			cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.APIVersion, b.APIVersion),
			cmp.Compare(a.Subresource, b.Subresource))
	})
}

func seconds(t *metav1.Time) int64 {
	if t == nil {
		return 0
	}
	return t.Unix()
}

func now() *metav1.Time { return &metav1.Time{Time: time.Now().UTC()} }

// maxFieldSets is the maximum number of parsed field sets per kind. A set for a Deployment takes about 20 KiB.
const maxFieldSets = 64

// knownFields caches parsed field sets by their JSON, because objects from the same template have equal sets.
// The sets are shared and must not be modified.
type knownFields struct {
	mu   sync.Mutex
	sets map[fieldsText]*fieldpath.Set
}

type fieldsText struct {
	of   *typed.ParseableType
	text string
}

// read parses a field set. It returns false for a set that is empty, invalid, or no longer matches the
// schema.
func (k *knownFields) read(t *typed.ParseableType, f *metav1.FieldsV1) (*fieldpath.Set, bool) {
	key := fieldsText{t, f.GetRawString()}
	k.mu.Lock()
	set, ok := k.sets[key]
	k.mu.Unlock()
	if ok {
		return set, true
	}
	set = &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(key.text)); err != nil || set.Empty() {
		return nil, false
	}
	anything := typed.AsTypedUnvalidated(nil, t.Schema, t.TypeRef) //lint:ignore SA1019 there is no value to validate
	if changed, err := typed.ReconcileFieldSetWithSchema(set, anything); err != nil || changed != nil {
		return nil, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sets == nil || len(k.sets) >= maxFieldSets {
		k.sets = map[fieldsText]*fieldpath.Set{}
	}
	k.sets[key] = set
	return set, true
}
