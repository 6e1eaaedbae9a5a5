package structural

import (
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// A quick check says of most valid values that they are valid, in a twentieth of the time of the library's validator,
// which makes a tree of validators for each object. It never says so of a value that the library refuses; of what it
// does not know (oneOf, not, enums of numbers) it says nothing. Then the library is asked, and words what is wrong.
type quick struct {
	unknown  bool     // the schema has what is not known here
	types    []string // none: any
	nullable bool
	enum     []string

	minLength, maxLength int64
	pattern              *regexp.Regexp
	format               string

	min, max         float64
	exclMin, exclMax bool
	int32            bool

	minItems, maxItems int64
	items              *quick

	minProperties, maxProperties int64
	properties                   map[string]*quick
	others                       *quick // of additionalProperties; nil for any
	closed                       bool   // additionalProperties: false
	required                     []string

	all, any []*quick
}

// newQuick makes the check of a schema.
func newQuick(s *spec.Schema) *quick {
	q := &quick{
		types: s.Type, nullable: s.Nullable, format: s.Format, required: s.Required,
		minLength: atLeast(s.MinLength), maxLength: atMost(s.MaxLength),
		minItems: atLeast(s.MinItems), maxItems: atMost(s.MaxItems),
		minProperties: atLeast(s.MinProperties), maxProperties: atMost(s.MaxProperties),
		all: quicks(s.AllOf), any: quicks(s.AnyOf),
	}
	q.unknown = len(s.OneOf) > 0 || s.Not != nil || len(s.Dependencies) > 0 || len(s.PatternProperties) > 0 ||
		s.UniqueItems || s.Ref.String() != "" || s.AdditionalItems != nil || s.MultipleOf != nil
	q.readValues(s)
	q.readParts(s)
	return q
}

func quicks(schemas []spec.Schema) []*quick {
	var checks []*quick
	for i := range schemas {
		checks = append(checks, newQuick(&schemas[i]))
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

// readValues reads what a schema says of texts and numbers.
func (q *quick) readValues(s *spec.Schema) {
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

// readParts reads what a schema says of items and properties.
func (q *quick) readParts(s *spec.Schema) {
	if s.Items != nil {
		q.unknown = q.unknown || s.Items.Schema == nil
		if s.Items.Schema != nil {
			q.items = newQuick(s.Items.Schema)
		}
	}
	if len(s.Properties) > 0 {
		q.properties = make(map[string]*quick, len(s.Properties))
	}
	for name, part := range s.Properties {
		q.properties[name] = newQuick(&part)
	}
	if a := s.AdditionalProperties; a != nil {
		q.closed = !a.Allows
		if a.Schema != nil && a.Allows {
			q.others = newQuick(a.Schema)
		}
	}
}

// valid says that the library finds nothing wrong with a value of decoded JSON. False says nothing.
func (q *quick) valid(value any) bool {
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
	if len(q.any) > 0 && !slices.ContainsFunc(q.any, func(one *quick) bool { return one.valid(value) }) {
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

// is says whether the schema allows one of these types.
func (q *quick) is(types ...string) bool {
	return len(q.types) == 0 || slices.ContainsFunc(q.types, func(t string) bool { return slices.Contains(types, t) })
}

func (q *quick) validText(s string) bool {
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

// validInteger compares as the library does: with bounds that are whole numbers of 32 bits, floats lose nothing.
func (q *quick) validInteger(n int64) bool {
	if q.int32 && n != int64(int32(n)) {
		return false
	}
	return q.validNumber(float64(n))
}

func (q *quick) validNumber(n float64) bool {
	return (n > q.min || n == q.min && !q.exclMin) && (n < q.max || n == q.max && !q.exclMax)
}

func (q *quick) validItems(items []any) bool {
	if n := int64(len(items)); n < q.minItems || n > q.maxItems {
		return false
	}
	return q.items == nil || !slices.ContainsFunc(items, func(item any) bool { return !q.items.valid(item) })
}

func (q *quick) validProperties(object map[string]any) bool {
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
