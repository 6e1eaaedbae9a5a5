package structural

import (
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// fastValidator is a fast check that accepts most valid values, in a twentieth of the time of the library's
// validator, which builds a tree of validators for each object. It never accepts a value that the library
// rejects. For schemas that it does not support (oneOf, not, enums of numbers), and for invalid values, it
// returns false; then the library validates the value and words the errors.
type fastValidator struct {
	unsupported bool     // the schema uses unsupported features
	types       []string // empty for any type
	nullable    bool
	enum        []string

	minLength, maxLength int64
	pattern              *regexp.Regexp
	format               string

	min, max         float64
	exclMin, exclMax bool
	int32            bool

	minItems, maxItems int64
	items              *fastValidator

	minProperties, maxProperties int64
	properties                   map[string]*fastValidator
	additional                   *fastValidator // nil if additional properties may have any value
	closed                       bool           // additional properties are not allowed
	required                     []string

	all, any []*fastValidator
}

// newFastValidator compiles a schema.
func newFastValidator(s *spec.Schema) *fastValidator {
	v := &fastValidator{
		types: s.Type, nullable: s.Nullable, format: s.Format, required: s.Required,
		minLength: atLeast(s.MinLength), maxLength: atMost(s.MaxLength),
		minItems: atLeast(s.MinItems), maxItems: atMost(s.MaxItems),
		minProperties: atLeast(s.MinProperties), maxProperties: atMost(s.MaxProperties),
		all: newFastValidators(s.AllOf), any: newFastValidators(s.AnyOf),
	}
	v.unsupported = len(s.OneOf) > 0 || s.Not != nil || len(s.Dependencies) > 0 || len(s.PatternProperties) > 0 ||
		s.UniqueItems || s.Ref.String() != "" || s.AdditionalItems != nil || s.MultipleOf != nil
	v.readValues(s)
	v.readParts(s)
	return v
}

func newFastValidators(schemas []spec.Schema) []*fastValidator {
	var validators []*fastValidator
	for i := range schemas {
		validators = append(validators, newFastValidator(&schemas[i]))
	}
	return validators
}

func atLeast(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func atMost(n *int64) int64 {
	if n == nil {
		return math.MaxInt64
	}
	return *n
}

// readValues compiles the constraints on strings and numbers.
func (v *fastValidator) readValues(s *spec.Schema) {
	for _, value := range s.Enum {
		text, ok := value.(string)
		v.unsupported = v.unsupported || !ok
		v.enum = append(v.enum, text)
	}
	if s.Pattern != "" {
		var err error
		v.pattern, err = regexp.Compile(s.Pattern)
		v.unsupported = v.unsupported || err != nil
	}
	v.min, v.max, v.exclMin, v.exclMax = math.Inf(-1), math.Inf(1), s.ExclusiveMinimum, s.ExclusiveMaximum
	if s.Minimum != nil {
		v.min = *s.Minimum
	}
	if s.Maximum != nil {
		v.max = *s.Maximum
	}
	for _, bound := range []*float64{s.Minimum, s.Maximum} {
		v.unsupported = v.unsupported || bound != nil &&
			(*bound != math.Trunc(*bound) || math.Abs(*bound) > math.MaxInt32)
	}
	switch {
	case v.format == "":
	case len(v.types) != 1:
		v.unsupported = true
	case v.types[0] == "string" && strfmt.Default.ContainsName(v.format):
	case v.types[0] == "integer" && (v.format == "int32" || v.format == "int64"):
		v.int32 = v.format == "int32"
	case v.types[0] == "number" && v.format == "double":
	default:
		v.unsupported = true
	}
}

// readParts compiles the schemas of items and properties.
func (v *fastValidator) readParts(s *spec.Schema) {
	if s.Items != nil {
		v.unsupported = v.unsupported || s.Items.Schema == nil
		if s.Items.Schema != nil {
			v.items = newFastValidator(s.Items.Schema)
		}
	}
	if len(s.Properties) > 0 {
		v.properties = make(map[string]*fastValidator, len(s.Properties))
	}
	for name, part := range s.Properties {
		v.properties[name] = newFastValidator(&part)
	}
	if a := s.AdditionalProperties; a != nil {
		v.closed = !a.Allows
		if a.Schema != nil && a.Allows {
			v.additional = newFastValidator(a.Schema)
		}
	}
}

// valid reports whether the library would accept a value of decoded JSON. A false result is inconclusive.
func (v *fastValidator) valid(value any) bool {
	if v.unsupported {
		return false
	}
	if value == nil {
		return (len(v.types) == 0 || v.nullable) && v.enum == nil
	}
	for _, each := range v.all {
		if !each.valid(value) {
			return false
		}
	}
	if len(v.any) > 0 && !slices.ContainsFunc(v.any, func(one *fastValidator) bool { return one.valid(value) }) {
		return false
	}
	switch value := value.(type) {
	case string:
		return v.validText(value)
	case int64:
		return v.allows("integer", "number") && v.enum == nil && v.validInteger(value)
	case float64:
		return v.allows("number") && v.enum == nil && v.validNumber(value)
	case bool:
		return v.allows("boolean") && v.enum == nil
	case []any:
		return v.allows("array") && v.enum == nil && v.validItems(value)
	case map[string]any:
		return v.allows("object") && v.enum == nil && v.validProperties(value)
	}
	return false
}

// allows reports whether the schema allows one of these types.
func (v *fastValidator) allows(types ...string) bool {
	return len(v.types) == 0 || slices.ContainsFunc(v.types, func(t string) bool { return slices.Contains(types, t) })
}

func (v *fastValidator) validText(s string) bool {
	if !v.allows("string") || v.enum != nil && !slices.Contains(v.enum, s) {
		return false
	}
	if v.minLength > 0 || v.maxLength < math.MaxInt64 {
		if n := int64(utf8.RuneCountInString(s)); n < v.minLength || n > v.maxLength {
			return false
		}
	}
	if v.pattern != nil && !v.pattern.MatchString(s) {
		return false
	}
	return v.format == "" || strfmt.Default.Validates(v.format, s)
}

// validInteger converts to float64, as the library does. No precision is lost, because the bounds are whole
// numbers of 32 bits.
func (v *fastValidator) validInteger(n int64) bool {
	if v.int32 && n != int64(int32(n)) {
		return false
	}
	return v.validNumber(float64(n))
}

func (v *fastValidator) validNumber(n float64) bool {
	return (n > v.min || n == v.min && !v.exclMin) && (n < v.max || n == v.max && !v.exclMax)
}

func (v *fastValidator) validItems(items []any) bool {
	if n := int64(len(items)); n < v.minItems || n > v.maxItems {
		return false
	}
	return v.items == nil || !slices.ContainsFunc(items, func(item any) bool { return !v.items.valid(item) })
}

func (v *fastValidator) validProperties(object map[string]any) bool {
	if n := int64(len(object)); n < v.minProperties || n > v.maxProperties {
		return false
	}
	for _, name := range v.required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, value := range object {
		part, known := v.properties[name]
		switch {
		case known:
		case v.closed:
			return false
		case v.additional == nil:
			continue
		default:
			part = v.additional
		}
		if !part.valid(value) {
			return false
		}
	}
	return true
}
