package resource

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// FuzzParameters checks that exactly the objects in JSON are accepted as parameters.
func FuzzParameters(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{}`, `null`, `[]`, `{`, `{"a":1}x`, `"a"`, "\x00", `{"\ud800":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 1 << 10
		var object map[string]json.RawMessage
		valid := len(data) <= most && json.Unmarshal(data, &object) == nil && object != nil
		if errs := jsonObject(field.NewPath("parameters"), data, most); (len(errs) == 0) != valid {
			t.Errorf("%q: errors %v, want accepted: %t", data, errs, valid)
		}
	})
}
