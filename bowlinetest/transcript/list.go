package transcript

import (
	"fmt"
	"reflect"
	"slices"
)

// longList is the combined length of two lists, in characters, above which only their differences are shown.
const longList = 300

// isLong reports whether two values are lists of which only the differences are shown.
func isLong(was, is any) bool {
	_, wasList := was.([]any)
	_, isList := is.([]any)
	return wasList && isList && len(text(was))+len(text(is)) > longList
}

// listDifferences describes the changes of a list. If its length is unchanged, these are the changed fields
// of its items; otherwise, the added and removed items.
func (s *stage) listDifferences(path string, was, is []any) (parts []string) {
	if len(was) == len(is) {
		old, now := map[string]any{}, map[string]any{}
		for i := range was {
			s.leaves(fmt.Sprintf("%s.%d", path, i), was[i], old)
			s.leaves(fmt.Sprintf("%s.%d", path, i), is[i], now)
		}
		return s.differences(old, now)
	}
	for _, item := range missing(is, was) {
		parts = append(parts, fmt.Sprintf("%s with %s", path, text(item)))
	}
	for _, item := range missing(was, is) {
		parts = append(parts, fmt.Sprintf("%s without %s", path, text(item)))
	}
	return parts
}

// missing returns the items of list that other does not have, or has less often.
func missing(list, other []any) (items []any) {
	left := slices.Clone(other)
	for _, item := range list {
		if i := slices.IndexFunc(left, func(o any) bool { return reflect.DeepEqual(o, item) }); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			items = append(items, item)
		}
	}
	return items
}
