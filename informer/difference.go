package informer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// maxDifferences bounds the number of fields in a report.
const maxDifferences = 10

// differences lists the fields in which two objects differ, by JSON path, with both values.
func differences(before, after any) []string {
	a, errA := fieldsOf(before)
	b, errB := fieldsOf(after)
	if errA != nil || errB != nil {
		return []string{fmt.Sprintf("before: %+v", before), fmt.Sprintf("after:  %+v", after)}
	}
	found := appendDifferences(nil, "", a, b)
	if len(found) == 0 {
		return []string{"the JSON is equal: an empty value became nil or vice versa, or a field " +
			"without JSON was set"}
	}
	if more := len(found) - maxDifferences; more > 0 {
		found = append(found[:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return found
}

// fieldsOf returns an object as decoded JSON.
func fieldsOf(obj any) (fields any, err error) {
	data, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	return fields, err
}

// absent represents a missing value.
type absent struct{}

// appendDifferences compares the values at a path.
func appendDifferences(found []string, path string, a, b any) []string {
	switch av := a.(type) {
	case map[string]any:
		if bv, ok := b.(map[string]any); ok {
			return appendFields(found, path, av, bv)
		}
	case []any:
		if bv, ok := b.([]any); ok {
			for i := range max(len(av), len(bv)) {
				found = appendDifferences(found, fmt.Sprintf("%s[%d]", path, i), element(av, i), element(bv, i))
			}
			return found
		}
	default:
		if a == b {
			return found
		}
	}
	return append(found, fmt.Sprintf("%s: %s is now %s", path, printed(a), printed(b)))
}

func appendFields(found []string, path string, a, b map[string]any) []string {
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := name
		if path != "" {
			at = path + "." + name
		}
		found = appendDifferences(found, at, field(a, name), field(b, name))
	}
	return found
}

func field(fields map[string]any, name string) any {
	if value, found := fields[name]; found {
		return value
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

func printed(value any) string {
	if value == (absent{}) {
		return "nothing"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
