package transcript

import (
	"fmt"
	"reflect"
	"slices"
)

// longList is the combined length of two lists, in characters, above which only their differences are shown.
const longList = 300

// isLong reports whether two values are lists of which only the differences are shown.
func isLong(before, after any) bool {
	_, wasList := before.([]any)
	_, isList := after.([]any)
	return wasList && isList && len(text(before))+len(text(after)) > longList
}

// listDifferences describes the changes of a list. If its length is unchanged, these are the changed fields
// of its items; otherwise, the added and removed items.
func (s *stage) listDifferences(path string, before, after []any) (parts []string) {
	if len(before) == len(after) {
		old, now := map[string]any{}, map[string]any{}
		for i := range before {
			s.leaves(fmt.Sprintf("%s.%d", path, i), before[i], old)
			s.leaves(fmt.Sprintf("%s.%d", path, i), after[i], now)
		}
		return s.differences(old, now)
	}
	for _, item := range missing(after, before) {
		parts = append(parts, fmt.Sprintf("%s with %s", path, text(item)))
	}
	for _, item := range missing(before, after) {
		parts = append(parts, fmt.Sprintf("%s without %s", path, text(item)))
	}
	return parts
}

// missing returns the items of list that other does not have, or has less often.
func missing(list, other []any) (items []any) {
	rest := slices.Clone(other)
	for _, item := range list {
		if i := slices.IndexFunc(rest, func(o any) bool { return reflect.DeepEqual(o, item) }); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else {
			items = append(items, item)
		}
	}
	return items
}
