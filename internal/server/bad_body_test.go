package server_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Malformed bodies are 400s that quote the error, in JSON and YAML, for typed and custom kinds.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	w.create(t, widgetsPath, widget("a", `{}`))
	for _, path := range []string{configMaps, widgetsPath} {
		for _, body := range []string{
			``, `{`, `null`, `[]`, `"text"`, `{"metadata":{"name":"x"}`, `{"metadata":{"name":"x"}} trailing`, "{\x00}",
			`{"metadata":[]}`,
			`{"metadata":{"name":7}}`, `{"metadata":{"name":"x","labels":{"a":1}}}`, "{ // a comment\n}",
			strings.Repeat("[", 20000),
		} {
			for _, method := range []string{http.MethodPost, http.MethodPut} {
				target := path
				if method == http.MethodPut {
					target += "/a"
				}
				if r := w.send(t, method, target, body); r.code != http.StatusBadRequest &&
					r.code != http.StatusUnprocessableEntity {
					t.Errorf("%s %s %.40q: %d %s", method, target, body, r.code, r.body)
				}
			}
		}
		for _, body := range []string{"a: b: c", "\t", "- 1\n- 2", "a: &x [*x]", "%",
			"metadata:\n  name: x\n // comment", "{{}}"} {
			if r := w.send(t, http.MethodPost, path, body, "Content-Type", yamlType); r.code != http.StatusBadRequest &&
				r.code != http.StatusUnprocessableEntity {
				t.Errorf("%s %.40q: %d %s", path, body, r.code, r.body)
			}
		}
	}
}

// Malformed patches differ from patches that cannot be applied.
func TestMalformedPatches(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	w.create(t, widgetsPath, widget("a", `{}`))
	for _, path := range []string{configMaps + "/a", widgetsPath + "/a"} {
		for contentType, bodies := range map[string][]string{
			mergeType: {``, `{`, `[]`, `7`, `"x"`, `null`},
			jsonPatchType: {``, `{`, `{}`, `[1]`, `[{"op":"nothing"}]`,
				`[{"op":"add","path":"no-slash","value":1}]`, `[{"op":"test","path":"/metadata/name","value":"b"}]`,
				`[{"op":"remove","path":"/nothing"}]`},
			strategicType: {``, `{`, `[]`, `7`, `{"$retainKeys":7}`, `{"data":[[1]]}`},
		} {
			for _, body := range bodies {
				r := w.send(t, http.MethodPatch, path, body, "Content-Type", contentType)
				if r.code/100 != 4 {
					t.Errorf("%s %s %q: %d %s", path, contentType, body, r.code, r.body)
				}
			}
		}
		w.send(t, http.MethodPatch, path, `{}`, "Content-Type", "text/plain").wantError(t,
			http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "")
	}
	w.send(t, http.MethodPatch, widgetsPath+"/a", `{}`, "Content-Type",
		strategicType).wantError(t, http.StatusUnsupportedMediaType,
		metav1.StatusReasonUnsupportedMediaType, mergeType)
	w.send(t, http.MethodPatch, configMaps+"/a", `{"metadata":{"name":"b"}}`, "Content-Type", mergeType).wantError(t,
		http.StatusBadRequest, metav1.StatusReasonBadRequest, "does not match the name on the URL")
	w.send(t, http.MethodPatch, configMaps+"/a", `{"kind":"Secret"}`, "Content-Type", mergeType).want(t,
		http.StatusUnprocessableEntity)
	w.send(t, http.MethodPatch, configMaps+"/nothing", `{}`, "Content-Type", mergeType).wantError(t,
		http.StatusNotFound,
		metav1.StatusReasonNotFound, "")
}

// endless is a body of any length.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// Bodies over 3 MiB are a 413, with or without a Content-Length, and the connection can be reused.
func TestBodyOver3MiBIsTooLarge(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("x"), 3<<20)
	whole := append(append([]byte(`{"metadata":{"name":"big"},"data":{"k":"`), big...), `"}}`...)
	for name, w := range map[string]*testPlane{"in process": start(t), "HTTP/2": startTLS(t),
		"HTTP/1.1": http1(t, startTLS(t))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for method, path := range map[string]string{http.MethodPost: configMaps, http.MethodPut: configMaps + "/a",
				http.MethodPatch: configMaps + "/a", http.MethodDelete: configMaps + "/a"} {
				bodies := map[string]io.Reader{"with Content-Length": bytes.NewReader(whole),
					"chunked": io.MultiReader(bytes.NewReader(whole)), "endless": endless{}}
				for kind, body := range bodies {
					r, err := w.try(t.Context(), method, path, body, "Content-Type", patchTypeFor(method))
					if err != nil {
						t.Errorf("%s %s: %v", method, kind, err)
						continue
					}
					r.wantError(t, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
						"limit is 3145728")
				}
			}
			w.createConfigMaps(t, "default", "small")
		})
	}
}

// Unsupported media types are a 415 that lists the supported ones.
func TestUnsupportedMediaTypes(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	for _, contentType := range []string{"text/plain", "application/xml", "application/cbor", "a/b/c", ";", mergeType} {
		for _, path := range []string{configMaps, widgetsPath} {
			w.send(t, http.MethodPost, path, `{}`, "Content-Type", contentType).wantError(t,
				http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, jsonType)
		}
	}
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`, "Content-Type",
		"application/json; charset=utf-8").want(t, http.StatusCreated)
}

// Bodies that are huge, deeply nested or no text are rejected with a Status, and change nothing.
func TestHugeAndBinaryBodies(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	before := w.state(t, "/api/v1/configmaps")
	annotation := `{"metadata":{"name":"x","annotations":{"a":"` + strings.Repeat("x", 1<<18) + `"}}}`
	const test = `{"op":"test","path":"/kind","value":"ConfigMap"}`
	const tooLarge = metav1.StatusReasonRequestEntityTooLarge
	for _, c := range []struct {
		method, contentType, body string
		code                      int
		reason                    metav1.StatusReason
		text                      string
	}{
		{http.MethodPost, jsonType, strings.Repeat("[", 20000), 400, metav1.StatusReasonBadRequest, "exceeded max depth"},
		{http.MethodPost, jsonType, strings.Repeat(`{"a":`, 20000), 400, metav1.StatusReasonBadRequest,
			"exceeded max depth"},
		{http.MethodPost, yamlType, "a: \x80", 400, metav1.StatusReasonBadRequest, "invalid leading UTF-8 octet"},
		{http.MethodPost, protobufType, "k8s\x00\xff\xff", 400, metav1.StatusReasonBadRequest, "unexpected EOF"},
		{http.MethodPost, jsonType, `{"metadata":{"name":"x"}}` + strings.Repeat(" ", 3<<20), 413, tooLarge, "3145728"},
		{http.MethodPost, jsonType, annotation, 422, metav1.StatusReasonInvalid, "may not be more than 262144 bytes"},
		{http.MethodPatch, jsonPatchType, `[` + strings.Repeat(test+",", 10000) + test + `]`, 413, tooLarge, "10000"},
	} {
		path := configMaps
		if c.method == http.MethodPatch {
			path += "/a"
		}
		w.send(t, c.method, path, c.body, "Content-Type", c.contentType).wantError(t, c.code, c.reason, c.text)
		if w.state(t, "/api/v1/configmaps") != before {
			t.Fatalf("%s %.40q as %s changed the stored objects", c.method, c.body, c.contentType)
		}
	}
}
