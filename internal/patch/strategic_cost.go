package patch

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

const (
	// maxComparisons limits the estimated comparisons of list items. The library searches a list linearly for each
	// item of the patch, and its sort searches linearly for the positions of both items at each comparison. The sort
	// takes up to 400 ns for each pair of items.
	maxComparisons = 2_000_000
	// longKey is a length in bytes: every longKey bytes of the longest key add the cost of one more comparison.
	longKey = 512
)

const (
	directiveField = "$patch"
	orderPrefix    = "$setElementOrder/"
	deletionPrefix = "$deleteFromPrimitiveList/"
)

// checkComparisons returns a 413 if the estimated comparisons of a patch exceed maxComparisons.
func checkComparisons(current, change map[string]any, tags strategicpatch.LookupPatchMeta) error {
	var e estimate
	e.object(current, []map[string]any{change}, tags)
	if e.comparisons <= maxComparisons {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"the strategic merge patch needs an estimated %d comparisons of list items or more: limit is %d; use a JSON patch or "+
			"server-side apply",
		e.comparisons, maxComparisons))
}

// estimate adds up the comparisons of a merge. A list that the patch replaces, or that the object does not have, costs
// nothing unless the patch also orders it with $setElementOrder, or several items of the patch merge into it. Counting
// stops soon after the sum exceeds maxComparisons.
type estimate struct{ comparisons int }

// listPatch holds the parts of a patch that concern one list.
type listPatch struct {
	items    []any
	hasItems bool // the patch contains the list, which may be empty
	order    []any
	hasOrder bool // the patch contains $setElementOrder, which may be empty
}

// object adds the cost of applying patches to one object in order. There are several if a patch lists several items
// with the same key. If stored is nil, the library adds the first patch as the object and merges the others into it.
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
			e.replacedList(was, exists, values)
		}
	}
}

// listsOf groups the lists and the directives of a patch by the name of the list.
func listsOf(patch map[string]any) map[string]listPatch {
	lists := map[string]listPatch{}
	for name, value := range patch {
		items, ok := value.([]any)
		if !ok {
			continue
		}
		if list, ok := strings.CutPrefix(name, orderPrefix); ok {
			p := lists[list]
			p.order, p.hasOrder = items, true
			lists[list] = p
			continue
		}
		// Deleting scalars is cheap, but the library merges an empty list of deletions like an ordinary list.
		list, deletes := strings.CutPrefix(name, deletionPrefix)
		if p := lists[list]; !deletes || len(items) == 0 && !p.hasItems {
			p.items, p.hasItems = items, true
			lists[list] = p
		}
	}
	return lists
}

// list adds the cost of applying patches to one list in order, and that of merging their items.
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
		if exists && p.hasItems {
			e.comparisons += length * max(was, len(p.items)) * weight
		}
		if p.hasOrder {
			e.comparisons += length * max(was, 2*len(p.order)) * weight
		}
		exists = exists || p.hasItems
	}
	if key == "" || e.comparisons > maxComparisons {
		return
	}
	e.items(stored, all, tags, key)
}

// items adds the cost of merging the fields of list items. Each patched item merges into the stored item with its key,
// or into an earlier patched item with that key.
func (e *estimate) items(stored, patched []any, tags strategicpatch.LookupPatchMeta, key string) {
	patches := map[any][]map[string]any{}
	for _, item := range patched {
		if k, fields, ok := keyOf(item, key); ok {
			patches[k] = append(patches[k], fields)
		}
	}
	was := map[any]map[string]any{}
	for _, item := range stored {
		k, fields, ok := keyOf(item, key)
		if _, again := was[k]; ok && !again {
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

// replacedList adds the cost of applying $setElementOrder to a list whose patch strategy is not merge.
func (e *estimate) replacedList(stored []any, exists bool, patches []listPatch) {
	length, longest := len(stored), longestKey(stored, "")
	for _, p := range patches {
		was := length
		length = max(length, len(p.items))
		longest = max(longest, longestKey(p.items, ""), longestKey(p.order, ""))
		weight := 1 + longest/longKey
		if p.hasOrder && (exists || p.hasItems) {
			e.comparisons += length * max(was, 2*len(p.order)) * weight
		}
		exists = exists || p.hasItems
	}
}

// keyOf returns the key and the fields of a list item, and whether it has a key that can be compared: null can be, too.
func keyOf(item any, key string) (value any, fields map[string]any, ok bool) {
	fields, _ = item.(map[string]any)
	value, ok = fields[key]
	switch value.(type) {
	case map[string]any, []any:
		return nil, fields, false // the library panics
	}
	return value, fields, ok
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
