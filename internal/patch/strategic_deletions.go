package patch

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// checkDeletions returns a 400 if a $deleteFromPrimitiveList directive contains an object or a nested list. The library
// would merge an object into the field, checked neither by type nor by checkComparisons.
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
			if strings.HasPrefix(name, deletionPrefix) && !isScalarOrScalars(value) {
				return apierrors.NewBadRequest(fmt.Sprintf("%q must not contain objects or nested lists", name))
			}
			if err := checkDeletions(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// isScalarOrScalars reports whether value is a scalar or a list of scalars.
func isScalarOrScalars(value any) bool {
	scalar := func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return false
		}
		return true
	}
	if items, ok := value.([]any); ok {
		return !slices.ContainsFunc(items, func(item any) bool { return !scalar(item) })
	}
	return scalar(value)
}
