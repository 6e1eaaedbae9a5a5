package kind

import (
	"bytes"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/message"
	"github.com/bowline-dev/bowline/internal/object"
)

// MaxValues is the maximum number of values in an object: objects, lists, texts and numbers. An empty value takes two
// bytes in a body and up to a kilobyte in a Go struct, and rules, ownership and patches take time for each value, so
// the limit on the length of a body alone does not bound the cost of a request.
const MaxValues = 100_000

// MaxFields is the maximum number of fields of one object in JSON. Ownership keeps the fields of an object in a sorted
// list, and inserts one after the other, which takes time proportional to the square of their number.
const MaxFields = 20_000

// MaxLevels is the maximum number of objects and lists in JSON that are nested in each other. Ownership, patches,
// defaults and columns take time proportional to the square of the levels, since they name the path of each.
const MaxLevels = 1_000

// TooManyValuesError is returned for a body or an object with more than MaxValues values, with more than MaxFields
// fields in one object, or with more than MaxLevels levels.
type TooManyValuesError struct{ of excess }

type excess uint8

const (
	ofValues excess = iota
	ofFields
	ofLevels
)

func (e *TooManyValuesError) Error() string {
	switch e.of {
	case ofFields:
		return fmt.Sprintf("limit is %d fields of an object", MaxFields)
	case ofLevels:
		return fmt.Sprintf("limit is %d levels of objects and lists", MaxLevels)
	}
	return fmt.Sprintf("limit is %d values", MaxValues)
}

// CheckJSON returns a *TooManyValuesError if a text has too many values, fields or levels. It need not be valid JSON.
func CheckJSON(text []byte) error { return CheckJSONs(text, 1) }

// CheckJSONs is like CheckJSON for a text with a number of objects, which may have MaxValues each.
func CheckJSONs(text []byte, objects int) error {
	if len(text) > 2*MaxLevels && isDeep(text) { // a level has two brackets
		return &TooManyValuesError{of: ofLevels}
	}
	if len(text) <= 5*MaxFields { // a field and its separator have five bytes, a value and its separator two
		return nil
	}
	if countValues(text) > objects*MaxValues {
		return &TooManyValuesError{}
	}
	if mostFields(text) > MaxFields {
		return &TooManyValuesError{of: ofFields}
	}
	return nil
}

// isDeep reports whether JSON has more than MaxLevels levels. Few texts have as many brackets at all, and counting them
// is quick.
func isDeep(json []byte) bool {
	if bytes.Count(json, []byte("{"))+bytes.Count(json, []byte("[")) <= MaxLevels {
		return false
	}
	levels, quoted := 0, false
	for i := 0; i < len(json); i++ {
		switch c := json[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++ // within a string, the next byte belongs to the escape sequence
		case quoted:
		case c == '{' || c == '[':
			if levels++; levels > MaxLevels {
				return true
			}
		case c == '}' || c == ']':
			levels--
		}
	}
	return false
}

// mostFields returns the number of fields of the object with the most fields in JSON. For any other text it returns
// some number.
func mostFields(json []byte) int {
	const maxDepth = 10_000 // of JSON that can be decoded
	most, quoted := 0, false
	var fields []int // of the objects that enclose a position
	for i := 0; i < len(json); i++ {
		switch json[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++ // within a string, the next byte belongs to the escape sequence
		case '{', '[':
			if !quoted && len(fields) < maxDepth {
				fields = append(fields, 0)
			}
		case '}', ']':
			if !quoted && len(fields) > 0 {
				fields = fields[:len(fields)-1]
			}
		case ':':
			if !quoted && len(fields) > 0 {
				fields[len(fields)-1]++
				most = max(most, fields[len(fields)-1])
			}
		}
	}
	return most
}

// CheckYAML is like CheckJSON for YAML, whose values it can only estimate: text with commas and lines counts as values.
// The estimate of a document that it rejects is far above the limit.
func CheckYAML(text []byte) error {
	const tolerance = 3
	separators := 0
	for _, separator := range []string{",", "\n", "[", "{"} {
		separators += bytes.Count(text, []byte(separator))
	}
	if separators > tolerance*MaxValues {
		return &TooManyValuesError{}
	}
	return nil
}

// countValues returns the number of values in JSON. For any other text it returns some number.
func countValues(json []byte) int {
	n, quoted := 1, false
	for i := 0; i < len(json); i++ {
		switch json[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++ // within a string, the next byte belongs to the escape sequence
		case ',', '{', '[':
			if !quoted {
				n++
			}
		}
	}
	return n
}

// checkValues returns a *TooManyValuesError if a body has more than MaxValues values. prototype is the Go type of the
// object.
func checkValues(format object.Format, body []byte, prototype runtime.Object) error {
	if format == object.JSON {
		return CheckJSON(body)
	}
	if 3*len(body) <= 2*MaxValues { // a message of two bytes counts three times
		return nil
	}
	envelope, err := decodeEnvelope(body)
	if err != nil {
		return err
	}
	if message.CountFields(envelope.Raw, reflect.TypeOf(prototype).Elem(), MaxValues+1) > MaxValues {
		return &TooManyValuesError{}
	}
	return nil
}
