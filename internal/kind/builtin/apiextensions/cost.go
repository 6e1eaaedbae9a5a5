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
	maxRules        = 500       // compiling one takes a millisecond
	maxInstructions = 1_000_000 // of patterns: x{1000} has a thousand
)

// costs are what the schemas of a definition cost to compile.
type costs struct{ rules, instructions int }

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
	was := costs{maxRules, maxInstructions}
	if old != nil {
		before := schemaCosts(old)
		was = costs{max(was.rules, before.rules), max(was.instructions, before.instructions)}
	}
	at, c := field.NewPath("spec", "versions"), schemaCosts(crd)
	if c.rules > was.rules {
		errs = append(errs, field.TooMany(at.Child("schema", "openAPIV3Schema", "x-kubernetes-validations"), c.rules, maxRules))
	}
	if c.instructions > was.instructions {
		errs = append(errs, field.Invalid(at.Child("schema", "openAPIV3Schema", "pattern"), field.OmitValueType{},
			fmt.Sprintf("the patterns have about %d instructions in all: a repetition such as {1000} multiplies what it repeats; "+
				"at most %d are allowed", c.instructions, maxInstructions)))
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
