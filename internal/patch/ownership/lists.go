package ownership

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	merge "sigs.k8s.io/structured-merge-diff/v6/schema"

	"github.com/bowline-dev/bowline/internal/kind"
)

// maxListItems is the maximum number of items of a list whose items have owners: a set, or a list with keys. The
// library inserts one item after the other into a sorted list, which takes time proportional to the square of their
// number, and a second for two lists of this length. The squares of the lengths of all lists may add up to that of one.
const maxListItems = 4_000

// longList is the length of lists that are looked at. Shorter ones cannot exceed the limit: 100,000 values of an object
// make 625 lists of 160 items, and 625 times the square of 160 is the square of 4,000.
const longList = 160

// checkLists returns a 413 for an object with lists that are too long. Of a Go struct, which a stored
// object of a built-in kind is, it checks the metadata only.
func (o *Owners) checkLists(gvk schema.GroupVersionKind, objects ...runtime.Object) error {
	for _, obj := range objects {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			if n := longestMetadata(obj); n > maxListItems {
				return tooLong(n)
			}
			continue
		}
		if u == nil || !hasLongList(u.Object) {
			continue
		}
		t, err := o.typeOf(gvk)
		if err != nil {
			return err
		}
		l := lists{types: t.Schema}
		l.add(t.TypeRef, u.Object)
		if l.squares > maxListItems*maxListItems {
			return tooLong(l.longest)
		}
	}
	return nil
}

func tooLong(items int) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"a list has %d items, each of which would have an owner: a single list may have %d, and several lists share that "+
			"limit; use an update or a merge patch", items, maxListItems))
}

// longestMetadata returns the length of the longest list in the metadata of an object.
func longestMetadata(obj runtime.Object) int {
	if m, ok := obj.(kind.Object); ok && m != nil {
		return max(len(m.GetFinalizers()), len(m.GetOwnerReferences()))
	}
	return 0
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
