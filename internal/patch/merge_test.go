package patch_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/patch"
)

// TestMergeMatchesLibrary compares the result with that of the library that kube-apiserver uses.
func TestMergeMatchesLibrary(t *testing.T) {
	t.Parallel()
	documents := []string{
		`{"a":1}`, `{"a":{"b":{"c":1.50,"d":null}},"l":[{"x":1}]}`,
		`{"a":[1,{"b":null}],"big":12345678901234567890,"s":"<&>"}`, `{}`,
	}
	patches := []string{
		`{}`, `{"a":null}`, `{"a":{"b":null}}`, `{"a":{"b":{"c":null,"e":1e3}}}`,
		`{"a":[{"b":null,"c":{"d":null}},null]}`, `{"l":[{"x":null}]}`,
		`{"n":{"a":null,"b":[{"c":null}]}}`, `{"a":1.0}`, `{"l":{"x":{"y":null}}}`, `[]`, `[{"a":null},null]`,
		`{"a":null,"a":2}`,
	}
	deep := func(texts []string) (out []string) {
		for _, text := range texts {
			out = append(out, text, strings.Repeat(`{"x":`, 20)+text+strings.Repeat("}", 20))
		}
		return out
	}
	for _, doc := range deep(documents) {
		for _, p := range deep(patches) {
			want, err := jsonpatch.MergePatch([]byte(doc), []byte(p))
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := patch.Apply(types.MergePatchType, []byte(doc), []byte(p), nil, true)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s patched with %s: got %s (%v), want %s", doc, p, got, err, want)
			}
			compareMaps(t, doc, p, want)
		}
	}
}

// compareMaps applies the patch with Merge and compares the result with that of Apply.
func compareMaps(t *testing.T, doc, p string, want []byte) {
	t.Helper()
	var current, next map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(doc), &current); err != nil {
		t.Fatal(err)
	}
	change, plain := patch.DecodeMerge([]byte(p), true)
	if !plain {
		if strings.HasPrefix(p, "{") {
			t.Errorf("DecodeMerge does not accept %s", p)
		}
		return
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(want, &next); err != nil {
		t.Fatal(err)
	}
	if patch.Merge(current, change); !reflect.DeepEqual(current, next) {
		t.Errorf("%s patched with %s: got %v, want %v", doc, p, current, next)
	}
}

// TestDecodeMergeRejectsIrregularPatches checks that DecodeMerge leaves patches with errors or warnings to
// Apply.
func TestDecodeMergeRejectsIrregularPatches(t *testing.T) {
	t.Parallel()
	for body, plain := range map[string][2]bool{
		`{"a":{"b":1}}`: {true, true}, `{}`: {true, true}, `{"a":1,"a":2}`: {false, true},
		`{"x":{"a":1,"a":2}}`: {false, true},
		`null`:                {}, `[]`: {}, `{`: {}, ``: {}, `1`: {}, `{}{}`: {}, `{"a":1e999}`: {},
	} {
		for i, lenient := range []bool{false, true} {
			if change, got := patch.DecodeMerge([]byte(body), lenient); got != plain[i] {
				t.Errorf("DecodeMerge(%s, lenient %t): got %[3]t, %[4]v", body, lenient, got, change)
			}
		}
	}
}

// TestNestedMergePatchTakesLinearTime patches an object with the maximum nesting depth of JSON. Decoding it
// lazily on each level would copy each level once for every level above it, which takes seconds. The test
// measures allocated bytes instead of time, and therefore must not run in parallel with others.
func TestNestedMergePatchTakesLinearTime(t *testing.T) {
	const depth = 9000
	nested := func(inside string) []byte {
		return []byte(strings.Repeat(`{"data":`, depth) + inside + strings.Repeat("}", depth))
	}
	current, change := nested(`{"a":1}`), nested(`{"b":2}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	next, _, err := patch.Apply(types.MergePatchType, current, change, nil, true)
	runtime.ReadMemStats(&after)
	if err != nil || !json.Valid(next) || !bytes.Contains(next, []byte(`{"a":1,"b":2}`)) {
		t.Fatalf("%.100s: %v", next, err)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
		t.Errorf("patching %d bytes allocated %d bytes", len(current), made)
	}
}
