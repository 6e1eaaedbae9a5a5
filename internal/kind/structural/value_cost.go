package structural

import (
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

const (
	// Patterns with at most cheapPattern instructions are not counted, because the size of an object bounds their cost
	// well enough. The same holds for cheapChoice values of an enum, or alternatives.
	cheapPattern = 16
	cheapChoice  = 32
	// maxSteps is the number of steps of 10 to 15 ns that checking the values of an object may take. Matching a pattern
	// takes at most one for each byte of a text and instruction of the pattern: a repetition such as {500} multiplies
	// the instructions. A match cannot be interrupted.
	maxSteps = 50_000_000
	// alternativeSteps are the steps to check a value against a small schema, such as one in anyOf.
	alternativeSteps = 12
)

var errValueCost = fmt.Errorf("checking its values against the patterns, enums and alternatives of the schema would take "+
	"more than %d steps: shorten its texts or lists, or simplify the schema", maxSteps)

// valueCost is the part of a schema with which checking a value is costly.
type valueCost struct {
	perByte           int // of a text: the instructions of its pattern
	perValue          int // values of the enum, and alternatives
	items, additional *valueCost
	properties        map[string]*valueCost
	same              []*valueCost // schemas for the same value, such as those of allOf
}

// newValueCost returns the costly parts of a schema, or nil if there are none.
func newValueCost(s *spec.Schema) *valueCost {
	if s == nil {
		return nil
	}
	c := &valueCost{properties: map[string]*valueCost{}}
	if n := expression.Instructions(s.Pattern); n > cheapPattern {
		c.perByte = n
	}
	if n := len(s.Enum); n > cheapChoice {
		c.perValue = n
	}
	if n := alternatives(s); n > cheapChoice {
		c.perValue += n * alternativeSteps
	}
	if s.Items != nil {
		c.items = newValueCost(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		c.additional = newValueCost(s.AdditionalProperties.Schema)
	}
	for name, property := range s.Properties {
		if part := newValueCost(&property); part != nil {
			c.properties[name] = part
		}
	}
	for _, list := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			if part := newValueCost(&list[i]); part != nil {
				c.same = append(c.same, part)
			}
		}
	}
	if part := newValueCost(s.Not); part != nil {
		c.same = append(c.same, part)
	}
	if c.perByte+c.perValue == 0 && c.items == nil && c.additional == nil && len(c.properties)+len(c.same) == 0 {
		return nil
	}
	return c
}

// alternatives returns the number of schemas in allOf, anyOf, oneOf and not of a schema, and in these. Those inside are
// counted again for each of their parents, so costs are upper bounds.
func alternatives(s *spec.Schema) int {
	n := 0
	for _, list := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			n += 1 + alternatives(&list[i])
		}
	}
	if s.Not != nil {
		n += 1 + alternatives(s.Not)
	}
	return n
}

// exceeds reports whether checking a value may take more than maxSteps.
func (c *valueCost) exceeds(value any) bool {
	steps := 0
	c.add(value, &steps)
	return steps > maxSteps
}

func (c *valueCost) add(value any, steps *int) {
	if c == nil || *steps > maxSteps {
		return
	}
	*steps += c.perValue
	switch v := value.(type) {
	case string:
		*steps += c.perByte * len(v)
	case []any:
		for _, item := range v {
			c.items.add(item, steps)
		}
	case map[string]any:
		for name, part := range c.properties {
			if field, ok := v[name]; ok {
				part.add(field, steps)
			}
		}
		if c.additional != nil {
			for _, field := range v {
				c.additional.add(field, steps)
			}
		}
	}
	for _, part := range c.same {
		part.add(value, steps)
	}
}
