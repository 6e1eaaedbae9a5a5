package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Strict rejects exactly what Warn warns about, in order, and Ignore drops it: in metadata and elsewhere, in
// JSON and YAML, in bodies and in patches.
func TestFieldValidationFindsSameErrorsInAllModes(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	w.create(t, widgetsPath, widget("a", `{}`))
	const post, put, patch = http.MethodPost, http.MethodPut, http.MethodPatch
	for _, c := range []struct {
		method, path, contentType, body string
		found                           []string
	}{
		{post, configMaps, jsonType,
			`{"metadata":{"name":"b","unknown":1,"labels":{"a":"1","a":"2"},"finalizers":["example.com/f"],"name":"c"}}`,
			[]string{`unknown field "metadata.unknown"`, `duplicate field "metadata.labels.a"`,
				`duplicate field "metadata.name"`}},
		{post, configMaps, yamlType, "metadata:\n  name: b\n  unknown: 1\n  name: c\n",
			[]string{`line 4: key "name" already set in map`, `unknown field "metadata.unknown"`}},
		{post, widgetsPath, jsonType,
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b","unknown":1,"name":"c"},"spec":{"x":1,"x":2}}`,
			[]string{`duplicate field "metadata.name"`, `duplicate field "spec.x"`, `unknown field "metadata.unknown"`,
				`unknown field "spec.x"`}},
		{post, widgetsPath, yamlType,
			"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: b, unknown: 1}\nspec: {x: 1}\n",
			[]string{`unknown field "metadata.unknown"`, `unknown field "spec.x"`}},
		{put, configMaps + "/a", jsonType, `{"metadata":{"name":"a","unknown":1},"data":{"k":"1","k":"2"}}`,
			[]string{`unknown field "metadata.unknown"`, `duplicate field "data.k"`}},
		{patch, configMaps + "/a", mergeType, `{"metadata":{"unknown":1},"data":{"k":"1","k":"2"}}`,
			[]string{`duplicate field "data.k"`, `unknown field "metadata.unknown"`}},
		{patch, configMaps + "/a", strategicType,
			`{"metadata":{"unknown":1},"data":{"k":"1","k":"2"}}`,
			[]string{`duplicate field "data.k"`, `unknown field "metadata.unknown"`}},
		{patch, configMaps + "/a", jsonPatchType,
			`[{"op":"add","path":"/metadata/unknown","value":1,"value":2}]`,
			[]string{`json patch duplicate field "[0].value"`, `unknown field "metadata.unknown"`}},
		{patch, widgetsPath + "/a", mergeType, `{"metadata":{"unknown":1},"spec":{"x":1,"x":2}}`,
			[]string{`duplicate field "spec.x"`, `unknown field "metadata.unknown"`, `unknown field "spec.x"`}},
	} {
		ask := func(validation string) response {
			return w.send(t, c.method, c.path+"?dryRun=All&fieldValidation="+validation, c.body, "Content-Type",
				c.contentType)
		}
		strict := ask("Strict")
		var s metav1.Status
		strict.into(t, &s)
		at := strings.Index(s.Message, "strict decoding error: ")
		warnings := ask("Warn").header.Values("Warning")
		if strict.code/100 != 4 || at < 0 || len(warnings) != len(c.found) {
			t.Fatalf("%s %s %s: %d %s; warnings %q, want %q", c.method, c.path, c.contentType, strict.code, s.Message,
				warnings, c.found)
		}
		for i, text := range c.found {
			rest := strings.Index(s.Message[at:], text)
			if rest < 0 || !strings.Contains(strings.ReplaceAll(warnings[i], `\"`, `"`), text) {
				t.Errorf("%s %s %s: finding %d: rejected with %q, warned of %q, want %q", c.method, c.path,
					c.contentType, i, s.Message, warnings[i], text)
				continue
			}
			at += rest
		}
		if silent := ask("Ignore"); len(silent.header.Values("Warning")) > 0 ||
			strings.Contains(string(silent.body), `"unknown":`) {
			t.Errorf("%s %s %s: ignored with %q: %s", c.method, c.path, c.contentType, silent.header.Values("Warning"),
				silent.body)
		}
	}
}
