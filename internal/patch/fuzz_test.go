package patch_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/patch"
)

// FuzzApply applies arbitrary patches of all types to a pod. The result must be JSON or an error, and strict
// and lenient decoding must produce the same result if both succeed.
func FuzzApply(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{`, `null`, `"x"`, `{"metadata":{"labels":{"a":null,"b":"2"}}}`, `{"metadata":null}`,
		`{"spec":[]}`,
		`[{"op":"add","path":"/metadata/labels/b","value":"c"}]`, `[{"op":"test","path":"/kind","value":"Pod"}]`,
		`[{"op":"move","from":"/spec","path":"/x"}]`, `[{"op":"copy","from":"/spec","path":"/spec/x"}]`,
		`[{"op":"remove","path":"/spec/containers/-1"}]`, `[{"op":"replace","path":"","value":{}}]`, `[null]`,
		`[{"op":null}]`,
		`{"spec":{"containers":[{"name":"b","$patch":"delete"}]}}`,
		`{"spec":{"$setElementOrder/containers":[{"name":"b"}]}}`,
		`{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}}`,
		`{"spec":{"$retainKeys":["containers"],"containers":null}}`,
		`{"$patch":"replace","kind":"Pod"}`, `{"spec":{"containers":[["x"]]}}`, `{"spec":{"containers":{"name":"x"}}}`,
	} {
		for t := range patchTypes {
			f.Add(uint8(t), seed)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		kind := patchTypes[int(which)%len(patchTypes)]
		next, _, err := patch.Apply(kind, []byte(pod), []byte(body), &corev1.Pod{}, false)
		if err == nil && !json.Valid(next) {
			t.Fatalf("%s %q makes %q", kind, body, next)
		}
		loose, _, looseErr := patch.Apply(kind, []byte(pod), []byte(body), &corev1.Pod{}, true)
		if err == nil && (looseErr != nil || string(loose) != string(next)) {
			t.Fatalf("%s %q: strictly %s, leniently %s, %v", kind, body, next, loose, looseErr)
		}
	})
}

var patchTypes = []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType}
