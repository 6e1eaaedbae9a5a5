package structural

import (
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/bowline-dev/bowline/internal/expression"
)

const (
	// cheapPattern is the number of instructions of a pattern whose cost the size of an object bounds well enough.
	cheapPattern = 16
	// maxPatternSteps is the number of steps that matching the texts of an object may take: for each byte of a text at
	// most one for each instruction of its pattern. A repetition such as {500} multiplies the instructions. A match
	// cannot be interrupted.
	maxPatternSteps = 50_000_000
)

var errPatternSteps = fmt.Errorf("matching its texts with the patterns of the schema would take more than %d steps",
	maxPatternSteps)

// patternCost is the part of a schema that has costly patterns.
type patternCost struct {
	instructions      int // of the patterns of a text
	items, additional *patternCost
	properties        map[string]*patternCost
	same              []*patternCost // schemas for the same value, such as those of allOf
}

// newPatternCost returns nil for a schema without costly patterns.
func newPatternCost(s *spec.Schema) *patternCost {
	if s == nil {
		return nil
	}
	c := &patternCost{properties: map[string]*patternCost{}}
	if n := expression.Instructions(s.Pattern); n > cheapPattern {
		c.instructions = n
	}
	if s.Items != nil {
		c.items = newPatternCost(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		c.additional = newPatternCost(s.AdditionalProperties.Schema)
	}
	for name, property := range s.Properties {
		if part := newPatternCost(&property); part != nil {
			c.properties[name] = part
		}
	}
	for _, list := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			if part := newPatternCost(&list[i]); part != nil {
				c.same = append(c.same, part)
			}
		}
	}
	if part := newPatternCost(s.Not); part != nil {
		c.same = append(c.same, part)
	}
	if c.instructions == 0 && c.items == nil && c.additional == nil && len(c.properties)+len(c.same) == 0 {
		return nil
	}
	return c
}

// exceeds reports whether matching the texts of a value may take more than maxPatternSteps.
func (c *patternCost) exceeds(value any) bool {
	steps := 0
	c.add(value, &steps)
	return steps > maxPatternSteps
}

func (c *patternCost) add(value any, steps *int) {
	if c == nil || *steps > maxPatternSteps {
		return
	}
	switch v := value.(type) {
	case string:
		*steps += c.instructions * len(v)
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
