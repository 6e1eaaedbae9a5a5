package structural

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/object"
)

// readsQuantities says whether a rule of a schema makes quantities of strings: quantity(self.size). What that may cost is not in
// the cost of rules, and nothing interrupts it.
func readsQuantities(s *schema.Structural) bool {
	found := false
	reads := func(v *schema.ValidationExtensions) {
		for _, rule := range v.XValidations {
			found = found || strings.Contains(rule.Rule, "uantity(") || strings.Contains(rule.MessageExpression, "uantity(")
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

// vastQuantity finds a string of an object that would be a quantity of more digits than anybody can write out, or nil.
func vastQuantity(path *field.Path, value any) *field.Error {
	switch v := value.(type) {
	case string:
		if strings.Trim(v, "+-.0123456789eEinumkKMGTP") == "" && string(kind.MaskVast(object.JSON, []byte(v))) != v {
			return field.Invalid(path, v, "must not have so many digits, or so large an exponent: rules of its schema read quantities")
		}
	case []any:
		for i, item := range v {
			if err := vastQuantity(path.Index(i), item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := vastQuantity(path.Child(name), v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}
