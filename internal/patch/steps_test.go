package patch_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/bowline-dev/bowline/internal/patch"
	"github.com/bowline-dev/bowline/internal/seed"
)

// TestStepsMatchLibrary applies random JSON patches with Steps and with the library, which must agree on the result and
// on the text of the error. It leaves out what the library panics for.
func TestStepsMatchLibrary(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	value := func() string {
		return pick(`1`, `1.0`, `"a"`, `true`, `{}`, `[]`, `{"a":1}`, `[1,2]`, `{"b":{"a":[1,{"c":2}]}}`, `"<&>"`)
	}
	path := func() string {
		var keys strings.Builder
		for range 1 + random.IntN(3) {
			keys.WriteString("/" + pick("a", "b", "c", "0", "1", "-1", "-", "-9", "7", "x~1y", "~0", "list", ""))
		}
		return pick(keys.String(), keys.String(), keys.String(), keys.String(), "", "a/b", "a")
	}
	applied := 0
	for range 2_000 {
		document := fmt.Sprintf(`{"a":%s,"b":{"a":%s,"x/y":%s},"list":[%s,%s],"~":%s}`, value(), value(), value(),
			value(), value(), value())
		operations := make([]string, 1+random.IntN(4))
		for i := range operations {
			operations[i] = fmt.Sprintf(`{"op":%q,"path":%q,"from":%q,"value":%s}`,
				pick("add", "remove", "replace", "move", "copy", "test", "test", "other"), path(), path(), value())
		}
		steps, err := jsonpatch.DecodePatch([]byte("[" + strings.Join(operations, ",") + "]"))
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr, panics := applyLibrary(steps, document)
		got, gotErr := patch.Steps(steps, []byte(document))
		if panics {
			continue
		}
		if fmt.Sprint(gotErr) != strings.TrimSuffix(fmt.Sprint(wantErr), ": %!w(<nil>)") || wantErr == nil && !sameJSON(t, got, want) {
			t.Fatalf("%s\nwith %s\ngot  %s %v\nwant %s %v", document, operations, got, gotErr, want, wantErr)
		}
		if wantErr == nil {
			applied++
		}
	}
	if applied < 40 {
		t.Errorf("only %d patches could be applied", applied)
	}
}

// applyLibrary applies a patch with the library, and reports whether it panics.
func applyLibrary(steps jsonpatch.Patch, document string) (next []byte, err error, panics bool) {
	defer func() {
		if recover() != nil {
			panics = true
		}
	}()
	next, err = steps.Apply([]byte(document))
	return next, err, false
}

// TestStepsLimitCopiesAndMoves checks the limits on what a JSON patch copies and moves.
func TestStepsLimitCopiesAndMoves(t *testing.T) {
	t.Parallel()
	document := `{"list":[` + strings.TrimSuffix(strings.Repeat("1,", 90_000), ",") + `]}`
	for operation, text := range map[string]string{
		`{"op":"copy","from":"/list","path":"/other"}`: "enlarge the object by more than 3145728 bytes",
		`{"op":"add","path":"/list/0","value":1}`:      "move more than 1073741824 bytes",
		`{"op":"remove","path":"/list/0"}`:             "move more than 1073741824 bytes",
	} {
		steps, err := jsonpatch.DecodePatch([]byte("[" + strings.TrimSuffix(strings.Repeat(operation+",", 1_000), ",") + "]"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := patch.Steps(steps, []byte(document)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got error %v, want %q", operation, err, text)
		}
	}
}
