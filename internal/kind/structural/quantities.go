package structural

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// parsesQuantities reports whether a rule of a schema parses strings as quantities: quantity(self.size). The
// cost limit of rules does not cover parsing, and parsing cannot be interrupted.
func parsesQuantities(s *schema.Structural) bool {
	found := false
	reads := func(v *schema.ValidationExtensions) {
		for _, rule := range v.XValidations {
			found = found || strings.Contains(rule.Rule, "uantity(") ||
				strings.Contains(rule.MessageExpression, "uantity(")
		}
	}
	visitor := schema.Visitor{
		Structural: func(s *schema.Structural) bool {
			reads(&s.ValidationExtensions)
			return false
		},
		NestedValueValidation: func(n *schema.NestedValueValidation) bool {
			reads(&n.ValidationExtensions)
			return false
		},
	}
	visitor.Visit(s)
	return found
}

// hugeQuantity returns an error for a string in an object that is a quantity with too many digits, or nil if
// there is none.
func hugeQuantity(path *field.Path, value any) *field.Error {
	switch v := value.(type) {
	case string:
		if strings.Trim(v, "+-.0123456789eEinumkKMGTP") == "" &&
			string(kind.MaskHugeQuantities(object.JSON, []byte(v))) != v {
			return field.Invalid(path, v,
				"has too many digits or too large an exponent: a rule of the schema reads it as a quantity")
		}
	case []any:
		for i, item := range v {
			if err := hugeQuantity(path.Index(i), item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := hugeQuantity(path.Child(name), v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}
