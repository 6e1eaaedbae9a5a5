package difference

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
)

// FuzzMask masks two states of a Secret with any content. The result has no value of the Secret, and differs where the
// values differ.
func FuzzMask(f *testing.F) {
	for _, state := range []string{`{"data":{"a":"x","b":"y"},"stringData":{"c":"z"}}`, `{"data":{"a":"q"},"stringData":null}`,
		`{"data":"x","stringData":["y"]}`, `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"x"}}}`,
		`null`, `{}`, `{"data":{"a":{"b":"c"}}}`} {
		f.Add(state, `{"data":{"a":"x"},"stringData":{"c":1}}`)
		f.Add(`{}`, state)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		var b, a, wasBefore, wasAfter map[string]any
		if json.Unmarshal([]byte(before), &b) != nil || json.Unmarshal([]byte(after), &a) != nil {
			return
		}
		_, _ = json.Unmarshal([]byte(before), &wasBefore), json.Unmarshal([]byte(after), &wasAfter)
		mask(b, a)
		for _, field := range []string{"data", "stringData"} {
			for _, state := range []map[string]any{b, a} {
				if value, left := state[field]; left && value != nil && !isMasked(value) {
					t.Fatalf("%s and %s: got %s %v", before, after, field, value)
				}
			}
			if b[field] != nil && a[field] != nil && wasBefore[field] != nil && wasAfter[field] != nil &&
				reflect.DeepEqual(b[field], a[field]) != reflect.DeepEqual(wasBefore[field], wasAfter[field]) {
				t.Errorf("%s and %s: got %s %v and %v", before, after, field, b[field], a[field])
			}
		}
	})
}

func isMasked(value any) bool {
	if values, ok := value.(map[string]any); ok {
		return !slices.ContainsFunc(slices.Collect(maps.Values(values)), func(v any) bool { return !isMasked(v) })
	}
	return value == masked || value == maskedBefore || value == maskedAfter
}
