package ownership

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	merge "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// maxListItems is the maximum number of items of a list whose items have owners: a set, or a list with keys. The
// library inserts one item after the other into a sorted list, which takes time proportional to the square of their
// number, and a second for two lists of this length. Several lists may have as many items as take the same time.
const maxListItems = 4_000

// longList is the length of lists that are looked at: shorter ones of an object, which has at most 100,000 values, are
// never too much.
const longList = 160

// checkLists returns a 413 for an object with lists that are too long. It looks only at objects in maps.
func (o *Owners) checkLists(gvk schema.GroupVersionKind, objects ...runtime.Object) error {
	for _, obj := range objects {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok || u == nil || !hasLongList(u.Object) {
			continue
		}
		t, err := o.typeOf(gvk)
		if err != nil {
			return err
		}
		l := lists{types: t.Schema}
		l.add(t.TypeRef, u.Object)
		if l.squares > maxListItems*maxListItems {
			return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
				"a list has %d items, which would have an owner each: limit is %d; other lists of the object count, too",
				l.longest, maxListItems))
		}
	}
	return nil
}

func hasLongList(value any) bool {
	switch value := value.(type) {
	case []any:
		return len(value) > longList || slices.ContainsFunc(value, hasLongList)
	case map[string]any:
		for _, field := range value {
			if hasLongList(field) {
				return true
			}
		}
	}
	return false
}

// lists measures the lists of an object whose items have owners.
type lists struct {
	types            *merge.Schema
	longest, squares int
}

func (l *lists) add(ref merge.TypeRef, value any) {
	switch value := value.(type) {
	case []any:
		atom, ok := l.types.Resolve(ref)
		if !ok || atom.List == nil {
			return
		}
		if atom.List.ElementRelationship == merge.Associative {
			l.longest = max(l.longest, len(value))
			l.squares += len(value) * len(value)
		}
		for _, item := range value {
			l.add(atom.List.ElementType, item)
		}
	case map[string]any:
		atom, ok := l.types.Resolve(ref)
		if !ok || atom.Map == nil {
			return
		}
		for name, field := range value {
			switch field.(type) {
			case []any, map[string]any:
				of := atom.Map.ElementType
				if known, ok := atom.Map.FindField(name); ok {
					of = known.Type
				}
				l.add(of, field)
			}
		}
	}
}
