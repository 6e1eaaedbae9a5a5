package structural

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxDefaults is the maximum size of the defaults that a schema adds to an object, in bytes of JSON: with more, the
// object would exceed the limit of an object, which is as large.
const maxDefaults = 3 << 20

// checkDefaults returns the 413 of an object to which a schema adds more than maxDefaults. s has the defaults and the
// paths to them. Defaulting itself copies a default for each value that lacks it, without a limit.
func checkDefaults(object map[string]any, s *schema.Structural) error {
	if s == nil {
		return nil
	}
	left := maxDefaults
	if subtractDefaults(object, s, &left); left >= 0 {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"with the defaults of its schema the object would have more than %d bytes", maxDefaults))
}

// subtractDefaults subtracts the size of the defaults that a value lacks from left, and stops when left is negative.
func subtractDefaults(value any, s *schema.Structural, left *int) {
	switch v := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if *left < 0 {
				return
			}
			field, ok := v[name]
			if property.Default.Object != nil && (!ok || field == nil && !property.Nullable) {
				field, ok = property.Default.Object, true
				subtractSize(field, left)
			}
			if ok {
				subtractDefaults(field, &property, left)
			}
		}
		if s.AdditionalProperties == nil || s.AdditionalProperties.Structural == nil {
			return
		}
		for name, field := range v {
			if _, ok := s.Properties[name]; !ok && *left >= 0 {
				subtractDefaults(field, s.AdditionalProperties.Structural, left)
			}
		}
	case []any:
		for _, item := range v {
			if s.Items == nil || *left < 0 {
				return
			}
			subtractDefaults(item, s.Items, left)
		}
	}
}

// subtractSize subtracts the approximate length of a value's JSON from left, and stops when left is negative.
func subtractSize(value any, left *int) {
	const quoted = 3 // two quotation marks and a separator
	if *left < 0 {
		return
	}
	switch v := value.(type) {
	case string:
		*left -= len(v) + quoted
	case map[string]any:
		*left -= quoted
		for name, field := range v {
			*left -= len(name) + quoted
			subtractSize(field, left)
		}
	case []any:
		*left -= quoted
		for _, item := range v {
			subtractSize(item, left)
		}
	default:
		*left -= quoted
	}
}
