package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// strange has an unknown field and a duplicate one; %NAME% is its name.
var strange = map[string]string{
	configMaps:                        `{"metadata":{"name":"%NAME%"},"unknown":1,"data":{"k":"1"},"data":{"k":"2"}}`,
	"/api/v1/namespaces/default/pods": `{"metadata":{"name":"%NAME%"},"spec":{"unknown":1,"containers":[{"name":"c","image":"i","image":"j"}]}}`,
	widgetsPath:                       `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"%NAME%"},"spec":{"unknown":1,"size":2,"size":3}}`,
}

// Unknown fields are refused, warned about or dropped, as fieldValidation demands; the default is a warning.
func TestFieldValidation(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	for path, body := range strange {
		named := func(name string) string { return strings.Replace(body, "%NAME%", name, 1) }
		s := w.send(t, http.MethodPost, path+"?fieldValidation=Strict", named("strict")).wantError(t,
			http.StatusBadRequest, metav1.StatusReasonBadRequest, "strict decoding error: ")
		for _, text := range []string{`unknown field "`, `unknown"`, "duplicate field"} {
			if !strings.Contains(s.Message, text) {
				t.Errorf("%s: %q does not contain %q", path, s.Message, text)
			}
		}
		for _, query := range []string{"", "?fieldValidation=Warn"} {
			r := w.send(t, http.MethodPost, path+query,
				named("warned"+strings.ToLower(strings.TrimPrefix(query, "?fieldValidation="))))
			r.want(t, http.StatusCreated)
			if warnings := r.header.Values("Warning"); len(warnings) != 2 ||
				!strings.HasPrefix(warnings[0], `299 - "`) {
				t.Errorf("%s%s: warnings %q", path, query, warnings)
			}
			if strings.Contains(string(r.body), `unknown":`) {
				t.Errorf("%s%s: stored %s", path, query, r.body)
			}
		}
		r := w.send(t, http.MethodPost, path+"?fieldValidation=Ignore", named("ignored")).want(t, http.StatusCreated)
		if warnings := r.header.Values("Warning"); len(warnings) > 0 || strings.Contains(string(r.body), `unknown":`) {
			t.Errorf("%s: ignored with %q: %s", path, warnings, r.body)
		}
		w.send(t, http.MethodPost, path+"?fieldValidation=Maybe", named("other")).wantError(t,
			http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "fieldValidation")
	}
}

// The same holds for updates and patches of existing objects.
func TestFieldValidationOfUpdatesAndPatches(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	w.create(t, widgetsPath, widget("a", `{}`))
	for _, c := range []struct{ method, path, contentType, body string }{
		{http.MethodPut, configMaps + "/a", jsonType, `{"metadata":{"name":"a"},"unknown":1}`},
		{http.MethodPatch, configMaps + "/a", mergeType, `{"unknown":1}`},
		{http.MethodPatch, configMaps + "/a", "application/strategic-merge-patch+json", `{"unknown":1}`},
		{http.MethodPatch, configMaps + "/a", "application/json-patch+json",
			`[{"op":"add","path":"/unknown","value":1}]`},
		{http.MethodPatch, widgetsPath + "/a", mergeType, `{"spec":{"unknown":1}}`},
		{http.MethodPut, configMaps + "/a", yamlType, "metadata: {name: a}\nunknown: 1\n"},
	} {
		strict := w.send(t, c.method, c.path+"?fieldValidation=Strict", c.body, "Content-Type", c.contentType)
		if strict.code/100 != 4 || !strings.Contains(string(strict.body), `unknown field`) {
			t.Errorf("%s %s %s: strict: %d %s", c.method, c.path, c.contentType, strict.code, strict.body)
		}
		warned := w.send(t, c.method, c.path, c.body, "Content-Type", c.contentType).want(t, http.StatusOK)
		if warnings := warned.header.Values("Warning"); len(warnings) != 1 ||
			!strings.Contains(warnings[0], "unknown field") {
			t.Errorf("%s %s %s: warnings %q", c.method, c.path, c.contentType, warnings)
		}
		ignored := w.send(t, c.method, c.path+"?fieldValidation=Ignore", c.body, "Content-Type", c.contentType).want(t,
			http.StatusOK)
		if warnings := ignored.header.Values("Warning"); len(warnings) > 0 {
			t.Errorf("%s %s %s: ignored with warnings %q", c.method, c.path, c.contentType, warnings)
		}
	}
}

// Errors of duplicate keys in YAML name the line.
func TestDuplicateKeysInYAML(t *testing.T) {
	t.Parallel()
	w := start(t)
	body := "metadata: {name: a}\ndata:\n  k: one\n  k: two\n"
	s := w.send(t, http.MethodPost, configMaps+"?fieldValidation=Strict", body, "Content-Type", yamlType).wantError(t,
		http.StatusBadRequest, metav1.StatusReasonBadRequest, "line 4")
	if !strings.Contains(s.Message, `"k"`) {
		t.Errorf("message %q does not name the key", s.Message)
	}
	r := w.send(t, http.MethodPost, configMaps, body, "Content-Type", yamlType).want(t, http.StatusCreated)
	if warnings := r.header.Values("Warning"); len(warnings) != 1 || !strings.Contains(warnings[0], "line 4") {
		t.Errorf("warnings %q", warnings)
	}
}

// Strict refuses exactly what Warn warns about, in order, and Ignore drops it: in metadata and elsewhere, in
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
		{patch, configMaps + "/a", "application/strategic-merge-patch+json",
			`{"metadata":{"unknown":1},"data":{"k":"1","k":"2"}}`,
			[]string{`duplicate field "data.k"`, `unknown field "metadata.unknown"`}},
		{patch, configMaps + "/a", "application/json-patch+json",
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
				t.Errorf("%s %s %s: finding %d: refused with %q, warned of %q, want %q", c.method, c.path,
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
