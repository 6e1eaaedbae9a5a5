package difference

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// The texts in place of the values of Secrets, as kubectl diff prints them: a value that only one of two
// objects has or that is equal in both, and the two values of one that differs.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// Masked reports whether the values of an object are masked: it is a Secret.
func Masked(key object.Key) bool { return key.GroupResource() == corev1.Resource("secrets") }

// mask replaces the values of a Secret, and the annotation in which kubectl apply and bowline up repeat them.
// Either of the two states of the Secret may be nil.
func mask(before, after map[string]any) {
	maskValues(before, after, "data")
	maskValues(before, after, "stringData")
	maskField(annotations(before), annotations(after), corev1.LastAppliedConfigAnnotation)
}

func annotations(content map[string]any) map[string]any {
	metadata, _ := content["metadata"].(map[string]any)
	all, _ := metadata["annotations"].(map[string]any)
	return all
}

// maskValues masks the values of a map, or the whole field if it is no map, as in a backup that was tampered
// with.
func maskValues(before, after map[string]any, field string) {
	b, beforeOK := before[field].(map[string]any)
	a, afterOK := after[field].(map[string]any)
	if !beforeOK && before[field] != nil || !afterOK && after[field] != nil {
		maskField(before, after, field)
		return
	}
	names := slices.Concat(slices.Collect(maps.Keys(b)), slices.Collect(maps.Keys(a)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		maskField(b, a, name)
	}
}

// maskField masks one field of two maps.
func maskField(before, after map[string]any, field string) {
	b, inBefore := before[field]
	a, inAfter := after[field]
	differs := inBefore && inAfter && !reflect.DeepEqual(b, a)
	if inBefore {
		before[field] = masked
	}
	if inAfter {
		after[field] = masked
	}
	if differs {
		before[field], after[field] = maskedBefore, maskedAfter
	}
}
