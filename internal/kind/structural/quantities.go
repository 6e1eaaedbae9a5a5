package structural

import (
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
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
