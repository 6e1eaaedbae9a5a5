package apiextensions

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// Limits of the schemas of all versions of a definition. Kubernetes has none, except for the size of a definition.
const (
	maxRules        = 500     // compiling one takes a millisecond
	maxInstructions = 500_000 // of patterns: x{1000} has a thousand
)

// costs are what the schemas of a definition cost to compile.
type costs struct{ rules, compiling, instructions int }

// schemaCosts returns the costs of all versions.
func schemaCosts(crd *definition) (c costs) {
	for _, v := range crd.Spec.Versions {
		if v.Schema != nil {
			c.add(v.Schema.OpenAPIV3Schema)
		}
	}
	return c
}

func (c *costs) add(s *apiextensionsv1.JSONSchemaProps) {
	if s == nil {
		return
	}
	c.rules += len(s.XValidations)
	for _, rule := range s.XValidations {
		c.compiling += expression.CompileCost(rule.Rule, rule.MessageExpression)
		c.instructions += expression.Repetitions(rule.Rule) + expression.Repetitions(rule.MessageExpression)
	}
	c.instructions += expression.Instructions(s.Pattern)
	for _, list := range [][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			c.add(&list[i])
		}
	}
	c.add(s.Not)
	for _, part := range s.Properties {
		c.add(&part)
	}
	if s.Items != nil {
		c.add(s.Items.Schema)
		for i := range s.Items.JSONSchemas {
			c.add(&s.Items.JSONSchemas[i])
		}
	}
	if s.AdditionalProperties != nil {
		c.add(s.AdditionalProperties.Schema)
	}
}

// costlySchemas returns errors for a definition that takes more than a second to compile. old is nil for a new one; an
// older server may have accepted it.
func costlySchemas(crd, old *definition) (errs field.ErrorList) {
	limit := costs{maxRules, expression.MaxCompileCost, maxInstructions}
	if old != nil {
		before := schemaCosts(old)
		limit = costs{max(limit.rules, before.rules), max(limit.compiling, before.compiling),
			max(limit.instructions, before.instructions)}
	}
	at, cost := field.NewPath("spec", "versions"), schemaCosts(crd)
	if cost.rules > limit.rules {
		errs = append(errs, field.Invalid(at, field.OmitValueType{},
			fmt.Sprintf("the schemas have %d CEL rules in all: at most %d are allowed", cost.rules, limit.rules)))
	}
	if cost.compiling > limit.compiling {
		errs = append(errs, field.Invalid(at, field.OmitValueType{},
			fmt.Sprintf("the CEL rules of the schemas are too long to compile, or their types too large: they "+
				"cost %d, and may cost %d", cost.compiling, limit.compiling)))
	}
	if cost.instructions > limit.instructions {
		errs = append(errs, field.Invalid(at, field.OmitValueType{},
			fmt.Sprintf("the patterns of the schemas have about %d instructions in all: at most %d are allowed; a repetition such "+
				"as {1000} multiplies what it repeats, and a pattern of more than 16 KiB counts 1,000 for each byte",
				cost.instructions, limit.instructions)))
	}
	return errs
}

// costlyColumns returns an error for each column whose path costs too much. Kubernetes accepts them, and may then never
// answer a request for a table. Updates are not checked, so that definitions of older servers can be changed; such a
// column is empty.
func costlyColumns(crd *definition) (errs field.ErrorList) {
	for i, v := range crd.Spec.Versions {
		for j, c := range v.AdditionalPrinterColumns {
			if err := kind.CheckPathCost(c.JSONPath); err != nil {
				errs = append(errs, field.Invalid(field.NewPath("spec", "versions").Index(i).Child("additionalPrinterColumns").
					Index(j).Child("jsonPath"), c.JSONPath, err.Error()))
			}
		}
	}
	return errs
}
