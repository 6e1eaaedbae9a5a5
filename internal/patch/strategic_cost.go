package patch

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxComparisons is the number of pairs of list items that a strategic merge patch may compare with each other. The
// library searches the list of the object, and what the patch has added to it, for each item of the patch. A comparison
// takes up to 350 ns.
const maxComparisons = 2_500_000

// sorting is the number of pairs of the items of a list that are sorted in the time of one comparison. The library
// sorts each stored list that a patch mentions, and searches the list for each item.
const sorting = 5

// checkComparisons returns the 413 of a patch that takes more than maxComparisons comparisons, by an estimate that is
// never too low.
func checkComparisons(current, change map[string]any) error {
	items := 0
	eachList(change, func(_ string, length int) { items += length })
	if items == 0 {
		return nil
	}
	lengths := map[string]int{} // of the longest list with a field name
	eachList(current, func(name string, length int) { lengths[name] = max(lengths[name], length) })
	comparisons := 0
	eachList(change, func(name string, length int) {
		comparisons += length*(length+lengths[name]) + lengths[name]*lengths[name]/sorting
	})
	if comparisons <= maxComparisons {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"merging the lists of the strategic merge patch takes up to %d comparisons of list items: limit is %d; use a JSON patch or "+
			"an apply",
		comparisons, maxComparisons))
}

// eachList calls f with the field name and the length of each list. The name of a directive such as
// $setElementOrder/env is that of its list.
func eachList(fields map[string]any, f func(name string, length int)) {
	for name, value := range fields {
		if directive, list, ok := strings.Cut(name, "/"); ok && strings.HasPrefix(directive, "$") {
			name = list
		}
		switch v := value.(type) {
		case map[string]any:
			eachList(v, f)
		case []any:
			f(name, len(v))
			for _, item := range v {
				if fields, ok := item.(map[string]any); ok {
					eachList(fields, f)
				}
			}
		}
	}
}
