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
	unknown  bool     // the schema uses unsupported features
	types    []string // empty for any type
	nullable bool
	enum     []string

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
	others                       *fastValidator // additionalProperties; nil for any
	closed                       bool           // additionalProperties: false
	required                     []string

	all, any []*fastValidator
}

// newFastValidator compiles a schema.
func newFastValidator(s *spec.Schema) *fastValidator {
	q := &fastValidator{
		types: s.Type, nullable: s.Nullable, format: s.Format, required: s.Required,
		minLength: atLeast(s.MinLength), maxLength: atMost(s.MaxLength),
		minItems: atLeast(s.MinItems), maxItems: atMost(s.MaxItems),
		minProperties: atLeast(s.MinProperties), maxProperties: atMost(s.MaxProperties),
		all: newFastValidators(s.AllOf), any: newFastValidators(s.AnyOf),
	}
	q.unknown = len(s.OneOf) > 0 || s.Not != nil || len(s.Dependencies) > 0 || len(s.PatternProperties) > 0 ||
		s.UniqueItems || s.Ref.String() != "" || s.AdditionalItems != nil || s.MultipleOf != nil
	q.readValues(s)
	q.readParts(s)
	return q
}

func newFastValidators(schemas []spec.Schema) []*fastValidator {
	var checks []*fastValidator
	for i := range schemas {
		checks = append(checks, newFastValidator(&schemas[i]))
	}
	return checks
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
func (q *fastValidator) readValues(s *spec.Schema) {
	for _, value := range s.Enum {
		text, ok := value.(string)
		q.unknown = q.unknown || !ok
		q.enum = append(q.enum, text)
	}
	if s.Pattern != "" {
		var err error
		q.pattern, err = regexp.Compile(s.Pattern)
		q.unknown = q.unknown || err != nil
	}
	q.min, q.max, q.exclMin, q.exclMax = math.Inf(-1), math.Inf(1), s.ExclusiveMinimum, s.ExclusiveMaximum
	if s.Minimum != nil {
		q.min = *s.Minimum
	}
	if s.Maximum != nil {
		q.max = *s.Maximum
	}
	for _, bound := range []*float64{s.Minimum, s.Maximum} {
		q.unknown = q.unknown || bound != nil && (*bound != math.Trunc(*bound) || math.Abs(*bound) > math.MaxInt32)
	}
	switch {
	case q.format == "":
	case len(q.types) != 1:
		q.unknown = true
	case q.types[0] == "string" && strfmt.Default.ContainsName(q.format):
	case q.types[0] == "integer" && (q.format == "int32" || q.format == "int64"):
		q.int32 = q.format == "int32"
	case q.types[0] == "number" && q.format == "double":
	default:
		q.unknown = true
	}
}

// readParts compiles the schemas of items and properties.
func (q *fastValidator) readParts(s *spec.Schema) {
	if s.Items != nil {
		q.unknown = q.unknown || s.Items.Schema == nil
		if s.Items.Schema != nil {
			q.items = newFastValidator(s.Items.Schema)
		}
	}
	if len(s.Properties) > 0 {
		q.properties = make(map[string]*fastValidator, len(s.Properties))
	}
	for name, part := range s.Properties {
		q.properties[name] = newFastValidator(&part)
	}
	if a := s.AdditionalProperties; a != nil {
		q.closed = !a.Allows
		if a.Schema != nil && a.Allows {
			q.others = newFastValidator(a.Schema)
		}
	}
}

// valid reports whether the library would accept a value of decoded JSON. A false result is inconclusive.
func (q *fastValidator) valid(value any) bool {
	if q.unknown {
		return false
	}
	if value == nil {
		return (len(q.types) == 0 || q.nullable) && q.enum == nil
	}
	for _, each := range q.all {
		if !each.valid(value) {
			return false
		}
	}
	if len(q.any) > 0 && !slices.ContainsFunc(q.any, func(one *fastValidator) bool { return one.valid(value) }) {
		return false
	}
	switch value := value.(type) {
	case string:
		return q.validText(value)
	case int64:
		return q.is("integer", "number") && q.enum == nil && q.validInteger(value)
	case float64:
		return q.is("number") && q.enum == nil && q.validNumber(value)
	case bool:
		return q.is("boolean") && q.enum == nil
	case []any:
		return q.is("array") && q.enum == nil && q.validItems(value)
	case map[string]any:
		return q.is("object") && q.enum == nil && q.validProperties(value)
	}
	return false
}

// is reports whether the schema allows one of these types.
func (q *fastValidator) is(types ...string) bool {
	return len(q.types) == 0 || slices.ContainsFunc(q.types, func(t string) bool { return slices.Contains(types, t) })
}

func (q *fastValidator) validText(s string) bool {
	if !q.is("string") || q.enum != nil && !slices.Contains(q.enum, s) {
		return false
	}
	if q.minLength > 0 || q.maxLength < math.MaxInt64 {
		if n := int64(utf8.RuneCountInString(s)); n < q.minLength || n > q.maxLength {
			return false
		}
	}
	if q.pattern != nil && !q.pattern.MatchString(s) {
		return false
	}
	return q.format == "" || strfmt.Default.Validates(q.format, s)
}

// validInteger converts to float64, as the library does. No precision is lost, because the bounds are whole
// numbers of 32 bits.
func (q *fastValidator) validInteger(n int64) bool {
	if q.int32 && n != int64(int32(n)) {
		return false
	}
	return q.validNumber(float64(n))
}

func (q *fastValidator) validNumber(n float64) bool {
	return (n > q.min || n == q.min && !q.exclMin) && (n < q.max || n == q.max && !q.exclMax)
}

func (q *fastValidator) validItems(items []any) bool {
	if n := int64(len(items)); n < q.minItems || n > q.maxItems {
		return false
	}
	return q.items == nil || !slices.ContainsFunc(items, func(item any) bool { return !q.items.valid(item) })
}

func (q *fastValidator) validProperties(object map[string]any) bool {
	if n := int64(len(object)); n < q.minProperties || n > q.maxProperties {
		return false
	}
	for _, name := range q.required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, value := range object {
		part, known := q.properties[name]
		switch {
		case known:
		case q.closed:
			return false
		case q.others == nil:
			continue
		default:
			part = q.others
		}
		if !part.valid(value) {
			return false
		}
	}
	return true
}
