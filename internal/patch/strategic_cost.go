package patch

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

const (
	// maxComparisons is the number of pairs of list items that a strategic merge patch may compare with each other. The
	// library searches the lists for each item, and sorts them by searching both of each two items that it compares.
	// That takes up to 400 ns for each pair of items.
	maxComparisons = 2_000_000
	// longKey is the length, in bytes, of a key that takes twice as long to compare as a short one.
	longKey = 512
)

const (
	directiveField = "$patch"
	orderPrefix    = "$setElementOrder/"
	deletionPrefix = "$deleteFromPrimitiveList/"
)

// checkComparisons returns the 413 of a patch that takes more than maxComparisons comparisons, by an estimate that is
// never much too low.
func checkComparisons(current, change map[string]any, tags strategicpatch.LookupPatchMeta) error {
	var e estimate
	e.object(current, []map[string]any{change}, tags)
	if e.comparisons <= maxComparisons {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"merging the lists of the strategic merge patch takes %d comparisons of list items or more: limit is %d; use a JSON patch "+
			"or an apply",
		e.comparisons, maxComparisons))
}

// estimate counts the comparisons of a merge. Only the lists that are merged count, not those that a patch replaces or
// adds. It stops once it exceeds maxComparisons.
type estimate struct{ comparisons int }

// listPatch is what one patch says of a list.
type listPatch struct {
	items   []any
	found   bool // whether the patch has items, even if there are none
	order   []any
	ordered bool
}

// object adds the cost of merging patches into an object, one after the other. Items of one key in a list, for example,
// are such patches. stored is nil if the object does not exist; then the first patch becomes the object.
func (e *estimate) object(stored map[string]any, patches []map[string]any, tags strategicpatch.LookupPatchMeta) {
	if len(patches) == 1 {
		if _, replaces := patches[0][directiveField]; replaces || stored == nil {
			return
		}
	}
	objects, lists := map[string][]map[string]any{}, map[string][]listPatch{}
	for _, patch := range patches {
		for name, p := range listsOf(patch) {
			lists[name] = append(lists[name], p)
		}
		for name, value := range patch {
			if fields, ok := value.(map[string]any); ok {
				objects[name] = append(objects[name], fields)
			}
		}
	}
	for name, values := range objects {
		inner, field, err := tags.LookupPatchMetadataForStruct(name)
		if err != nil || slices.Contains(field.GetPatchStrategies(), "replace") {
			continue // the library returns the error, or replaces the object
		}
		was, _ := stored[name].(map[string]any)
		e.object(was, values, inner)
	}
	for name, values := range lists {
		if e.comparisons > maxComparisons {
			return
		}
		inner, field, err := tags.LookupPatchMetadataForSlice(name)
		if err != nil {
			continue
		}
		was, exists := stored[name].([]any)
		if slices.Contains(field.GetPatchStrategies(), "merge") {
			e.list(was, exists, values, inner, field.GetPatchMergeKey())
		} else {
			e.orders(was, exists, values)
		}
	}
}

// listsOf returns what a patch says of each list.
func listsOf(patch map[string]any) map[string]listPatch {
	lists := map[string]listPatch{}
	for name, value := range patch {
		items, ok := value.([]any)
		if !ok {
			continue
		}
		if list, ok := strings.CutPrefix(name, orderPrefix); ok {
			p := lists[list]
			p.order, p.ordered = items, true
			lists[list] = p
			continue
		}
		// The library deletes plain values quickly, but merges an empty list of deletions like any other list.
		list, deletes := strings.CutPrefix(name, deletionPrefix)
		if p := lists[list]; !deletes || len(items) == 0 && !p.found {
			p.items, p.found = items, true
			lists[list] = p
		}
	}
	return lists
}

// list adds the cost of merging patches into a list, one after the other, and that of merging their items.
func (e *estimate) list(stored []any, exists bool, patches []listPatch, tags strategicpatch.LookupPatchMeta,
	key string) {
	longest, all := longestKey(stored, key), []any(nil)
	for _, p := range patches {
		longest = max(longest, longestKey(p.items, key), longestKey(p.order, key))
		all = append(all, p.items...)
	}
	weight := 1 + longest/longKey
	length := len(stored)
	for _, p := range patches {
		was := length
		length += len(p.items)
		if exists && p.found {
			e.comparisons += length * max(was, len(p.items)) * weight
		}
		if p.ordered {
			e.comparisons += length * max(was, 2*len(p.order)) * weight
		}
		exists = exists || p.found
	}
	if key == "" || e.comparisons > maxComparisons {
		return
	}
	e.items(stored, all, tags, key)
}

// items adds the cost of merging items of patches into those of a list that have the same key, and into each other.
func (e *estimate) items(stored, patched []any, tags strategicpatch.LookupPatchMeta, key string) {
	patches := map[any][]map[string]any{}
	for _, item := range patched {
		if k, fields := keyOf(item, key); k != nil {
			patches[k] = append(patches[k], fields)
		}
	}
	was := map[any]map[string]any{}
	for _, item := range stored {
		k, fields := keyOf(item, key)
		if _, again := was[k]; k != nil && !again {
			was[k] = fields
		}
	}
	for k, values := range patches {
		if e.comparisons > maxComparisons {
			return
		}
		e.object(was[k], values, tags)
	}
}

// orders adds the cost of sorting a list that a patch replaces.
func (e *estimate) orders(stored []any, exists bool, patches []listPatch) {
	length := len(stored)
	for _, p := range patches {
		was := length
		length = max(length, len(p.items))
		if p.ordered && (exists || p.found) {
			e.comparisons += length * max(was, 2*len(p.order)) * (1 + longestKey(p.order, "")/longKey)
		}
		exists = exists || p.found
	}
}

// keyOf returns the key and the fields of a list item. The key is nil if the item has none that can be compared.
func keyOf(item any, key string) (value any, fields map[string]any) {
	fields, _ = item.(map[string]any)
	switch value := fields[key].(type) {
	case string, bool, int64, float64:
		return value, fields
	}
	return nil, fields
}

// longestKey returns the length of the longest text among the items of a list or, if they are objects, their keys.
func longestKey(items []any, key string) int {
	longest := 0
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			item = fields[key]
		}
		if text, ok := item.(string); ok {
			longest = max(longest, len(text))
		}
	}
	return longest
}

// checkDeletions returns the 400 of a deletion directive that holds something else than plain values. The library would
// merge an object into the field, without regard to its type or cost.
func checkDeletions(change any) error {
	switch v := change.(type) {
	case []any:
		for _, item := range v {
			if err := checkDeletions(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, value := range v {
			if strings.HasPrefix(name, deletionPrefix) && !deletesValues(value) {
				return apierrors.NewBadRequest(fmt.Sprintf("%q must be a list of strings, numbers or booleans", name))
			}
			if err := checkDeletions(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// deletesValues reports whether the value of a deletion directive contains neither objects nor lists.
func deletesValues(value any) bool {
	plain := func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return false
		}
		return true
	}
	if items, ok := value.([]any); ok {
		return !slices.ContainsFunc(items, func(item any) bool { return !plain(item) })
	}
	return plain(value)
}
