package expansion_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/expansion"
)

// FuzzCheck converts the documents that pass to JSON, with the library that reads requests and manifests. The result is
// not much longer than the limit allows.
func FuzzCheck(f *testing.F) {
	for _, document := range []string{
		"", "a: &a {b: c}\nd: {<<: *a, e: f}", "a: &a [b, *a]", nested(3), "- &a x\n- *a\n- *a", "a: *b", "'*': !!binary aGk=",
		"- &a {x: y}\n- {<<: [*a, *a]}", "? *a\n: b", "&a a: *a", "--- &a b\n--- *a", "a: &a\n  <<: *a\n",
	} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		const limit = 4 << 10
		if len(document) > limit || expansion.Check(document, limit) != nil {
			return
		}
		text, err := yaml.YAMLToJSON(document)
		// a character of YAML takes at most 6 bytes in JSON, as in "\u0001", and so does a number such as 0x7fff
		if most := 6 * (limit + len(document)); err == nil && len(text) > most {
			t.Errorf("%q becomes %d bytes of JSON, want at most %d", document, len(text), most)
		}
	})
}
