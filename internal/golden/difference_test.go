package golden_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// differences compares a recorded value with the actual one, and returns a line for each difference.
func differences(want, got any, path string) []string {
	if typeName(want) != typeName(got) {
		return []string{fmt.Sprintf("%s: want %s, got %s", rootOr(path), shown(want, 160), shown(got, 160))}
	}
	switch want := want.(type) {
	case map[string]any:
		return objectDifferences(want, got.(map[string]any), path)
	case []any:
		got := got.([]any)
		if len(want) != len(got) {
			return []string{fmt.Sprintf("%s: want %d items, got %d", path, len(want), len(got))}
		}
		var out []string
		for i := range want {
			out = append(out, differences(want[i], got[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return out
	}
	if want != got {
		return []string{fmt.Sprintf("%s: want %s, got %s", rootOr(path), shown(want, 200), shown(got, 200))}
	}
	return nil
}

func objectDifferences(want, got map[string]any, path string) []string {
	keys := map[string]bool{}
	for k := range want {
		keys[k] = true
	}
	for k := range got {
		keys[k] = true
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		w, wanted := want[k]
		g, present := got[k]
		switch at := path + "." + k; {
		case !present:
			out = append(out, fmt.Sprintf("%s: want %s, got nothing", at, shown(w, 160)))
		case !wanted:
			out = append(out, fmt.Sprintf("%s: want nothing, got %s", at, shown(g, 160)))
		default:
			out = append(out, differences(w, g, at)...)
		}
	}
	slices.Sort(out)
	return out
}

// typeName distinguishes integers from fractions, because 1 and 1.0 are different JSON.
func typeName(v any) string {
	if n, ok := v.(json.Number); ok {
		if strings.ContainsAny(n.String(), ".eE") {
			return "fraction"
		}
		return "integer"
	}
	return fmt.Sprintf("%T", v)
}

func rootOr(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// shown returns a value as JSON, truncated to a length.
func shown(v any, length int) string {
	text := string(canonical(v))
	if len(text) > length {
		return text[:length]
	}
	return text
}
