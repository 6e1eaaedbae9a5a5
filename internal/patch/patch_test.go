package patch_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/patch"
)

const pod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"1"}},` +
	`"spec":{"containers":[{"name":"a","image":"a","args":["x"]},{"name":"b","image":"b"}],"nodeSelector":{"k":"v"}}}`

// TestPatchErrors checks each error of Apply. The messages are those of
// k8s.io/apiserver/pkg/endpoints/handlers/patch.go and of the libraries that it uses.
func TestPatchErrors(t *testing.T) {
	t.Parallel()
	const rejected = "the server rejected our request due to an error in our request"
	for _, c := range []struct {
		name    string
		t       types.PatchType
		patch   string
		lenient bool
		code    int32
		text    string
	}{
		{"json: too many operations", types.JSONPatchType,
			"[" + strings.Repeat(`{"op":"test","path":"/kind","value":"Pod"},`,
				10000) + `{"op":"test","path":"/kind","value":"Pod"}]`, false,
			413, "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"},
		{"json: not JSON, read leniently", types.JSONPatchType, "[", true, 400, "unexpected end of JSON input"},
		{"json: a copy of what is not there", types.JSONPatchType, `[{"op":"copy","from":"/x/y","path":"/z"}]`, false,
			422, rejected},
		{"json: no path", types.JSONPatchType, `[{"op":"add"}]`, false, 422, rejected},
		{"json: copies that grow without end", types.JSONPatchType, doubling(40), false, 422, rejected},
		{"json: items that come in front of thousands", types.JSONPatchType, insertions(9_000, 9_000), false, 422,
			rejected},
		{"json: a path through everything", types.JSONPatchType,
			`[{"op":"add","path":"` + strings.Repeat("/a", 9000) + `","value":1}]`, false, 422, rejected},
		{"json: a test of what is nested without end", types.JSONPatchType,
			`[{"op":"test","path":"/spec","value":` + strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}",
				9000) + `}]`, false, 422, rejected},
		{"merge: not JSON, read leniently", types.MergePatchType, `{`, true, 400, "Invalid JSON Patch"},
		{"strategic: an array", types.StrategicMergePatchType, `[]`, false, 400,
			"json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{"strategic: an unknown directive", types.StrategicMergePatchType, `{"spec":{"$patch":"fly"}}`, false, 500,
			"unknown patch type: fly in map: map[$patch:fly]"},
		{"strategic: an item without its merge key", types.StrategicMergePatchType,
			`{"spec":{"containers":[{"image":"x"}]}}`, false,
			500, "map: map[image:x] does not contain declared merge key: name"},
		{"json: a test of everything against nothing", types.JSONPatchType, `[{"op":"test","path":""}]`, false, 422,
			rejected},
		{"strategic: a key that is set and not retained", types.StrategicMergePatchType,
			`{"spec":{"$retainKeys":["containers"],"nodeSelector":{"a":"b"}}}`, false,
			400, "invalid patch format of retainKeys"},
		{"no type", "application/json", `{}`, false, 415, "415: Unsupported Media Type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := patch.Apply(c.t, []byte(pod), []byte(c.patch), &corev1.Pod{}, c.lenient)
			status, ok := err.(apierrors.APIStatus)
			if !ok {
				t.Fatalf("error %v is not a Status", err)
			}
			if s := status.Status(); s.Code != c.code || s.Message != c.text {
				t.Errorf("got %d %q, want %d %q", s.Code, s.Message, c.code, c.text)
			}
		})
	}
}

// doubling returns a JSON Patch that copies a growing object into itself.
func doubling(n int) string {
	steps := make([]string, n)
	for i := range steps {
		steps[i] = fmt.Sprintf(`{"op":"copy","from":"/spec","path":"/spec/x%d"}`, i)
	}
	return "[" + strings.Join(steps, ",") + "]"
}

// insertions returns a JSON Patch that adds a list of many items, and then inserts items at its front.
func insertions(n, items int) string {
	list := strings.TrimSuffix(strings.Repeat("1,", items), ",")
	return `[{"op":"add","path":"/list","value":[` + list + `]}` +
		strings.Repeat(`,{"op":"add","path":"/list/0","value":1}`, n) + "]"
}

func TestPatchResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		t     types.PatchType
		patch string
		// want must be part of the result, and gone must not.
		want, gone string
	}{
		{"json: -1 counts from the end", types.JSONPatchType, `[{"op":"remove","path":"/spec/containers/-1"}]`,
			`"name":"a"`, `"name":"b"`},
		{"json: brackets in a string are no levels", types.JSONPatchType,
			`[{"op":"add","path":"/metadata/note","value":"\"` + strings.Repeat("{",
				999) + `"},{"op":"test","path":"/metadata/note","value":"\"` + strings.Repeat("{", 999) + `"}]`,
			`"note"`, ""},
		{"json: escaped names", types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/x~1y~0z","value":"1"}]`,
			`"x/y~z":"1"`, ""},
		{"merge: null removes", types.MergePatchType, `{"metadata":{"labels":{"a":null}}}`, `"labels":{}`, `"a":"1"`},
		{"merge: a list is replaced", types.MergePatchType, `{"spec":{"containers":[{"name":"c"}]}}`,
			`"containers":[{"name":"c"}]`, `"image":"a"`},
		{"strategic: a list is merged by its key", types.StrategicMergePatchType,
			`{"spec":{"containers":[{"name":"b","image":"b2"}]}}`, `"image":"b2"`, `"image":"b"}`},
		{"strategic: $patch delete", types.StrategicMergePatchType,
			`{"spec":{"containers":[{"name":"a","$patch":"delete"}]}}`, `"name":"b"`, `"name":"a"`},
		{"strategic: $patch replace", types.StrategicMergePatchType,
			`{"spec":{"nodeSelector":{"$patch":"replace","x":"y"}}}`, `"nodeSelector":{"x":"y"}`, `"k":"v"`},
		{"strategic: an atomic list is replaced", types.StrategicMergePatchType,
			`{"spec":{"containers":[{"name":"a","args":["y"]}]}}`, `"args":["y"]`, `"x"`},
		{"strategic: $setElementOrder", types.StrategicMergePatchType,
			`{"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"a","image":"a2"}]}}`,
			`[{"image":"b","name":"b"},{"args":["x"],"image":"a2","name":"a"}]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			next, strict, err := patch.Apply(c.t, []byte(pod), []byte(c.patch), &corev1.Pod{}, false)
			if err != nil || len(strict) > 0 {
				t.Fatal(err, strict)
			}
			if !strings.Contains(string(next), c.want) || c.gone != "" && strings.Contains(string(next), c.gone) {
				t.Errorf("got %s, want it to contain %s, and not %q", next, c.want, c.gone)
			}
		})
	}
}

// TestDuplicateFieldsAreReported checks the fields that strict decoding finds in the patch itself.
func TestDuplicateFieldsAreReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		t     types.PatchType
		patch string
		want  string
	}{
		{types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/b","value":"1","op":"add","x":1}]`,
			`json patch duplicate field "[0].op", json patch unknown field "[0].x"`},
		{types.MergePatchType, `{"metadata":{"labels":{"b":"1","b":"2"}}}`, `duplicate field "metadata.labels.b"`},
		{types.StrategicMergePatchType, `{"metadata":{"labels":{"b":"1","b":"2"}}}`,
			`duplicate field "metadata.labels.b"`},
	} {
		next, strict, err := patch.Apply(c.t, []byte(pod), []byte(c.patch), &corev1.Pod{}, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strict, ", "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.t, got, c.want)
		}
		refused := patch.StrictError(c.t, []byte(c.patch), next, strict)
		if !strings.HasSuffix(refused.Error(), "strict decoding error: "+c.want) {
			t.Errorf("%s: got error %v", c.t, refused)
		}
		if _, strict, _ = patch.Apply(c.t, []byte(pod), []byte(c.patch), &corev1.Pod{}, true); len(strict) > 0 {
			t.Errorf("%s, lenient: got %v, want no strict errors", c.t, strict)
		}
	}
}

// TestStrategicErrorsShowThePatch checks the error for a result that does not fit the struct. As in
// applyPatchToObject of k8s.io/apiserver, it shows the patch.
func TestStrategicErrorsShowThePatch(t *testing.T) {
	t.Parallel()
	body, current := `{"data":{"a":1}}`,
		[]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},"data":{"a":"x"}}`)
	next, _, err := patch.Apply(types.StrategicMergePatchType, current, []byte(body), &corev1.ConfigMap{}, false)
	if err != nil {
		t.Fatal(err)
	}
	err = patch.DecodeError(types.StrategicMergePatchType, []byte(body), next, &corev1.ConfigMap{}, err)
	const want = ` "" is invalid: patch: Invalid value: "map[data:map[a:1]]": cannot convert int64 to string`
	if err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}
