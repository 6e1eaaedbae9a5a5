package transcript

import (
	"fmt"
	"reflect"
	"slices"
)

// longList is how long two lists are together, in characters, of which nobody would find the difference.
const longList = 300

// isLong says whether two values are lists of which only the difference is shown.
func isLong(was, is any) bool {
	_, wasList := was.([]any)
	_, isList := is.([]any)
	return wasList && isList && len(text(was))+len(text(is)) > longList
}

// listDifferences are what became of a list: of one that is as long as it was the fields of its items that are others, and else
// the items that are new and those that are gone.
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

// missing are the items of a list that another one does not have, or not so often.
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
