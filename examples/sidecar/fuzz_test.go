package sidecar_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/bowline-dev/bowline/examples/sidecar"
)

// FuzzWebhook sends any body to the webhook. It answers with a review, whose patch applies to the pod, or with an
// error.
func FuzzWebhook(f *testing.F) {
	read := template(f)
	w := &sidecar.Webhook{Template: func() (*sidecar.Template, error) { return read, nil }}
	for _, object := range []string{`{"spec":{"containers":[{"name":"c"}]}}`, `{"metadata":{"annotations":null},"spec":null}`, `[]`, `null`,
		`{"spec":{"containers":[],"volumes":[{"name":"envoy"}]}}`} {
		f.Add(`{"request":{"uid":"u","operation":"CREATE","kind":{"version":"v1","kind":"Pod"},"object":` + object + `}}`)
	}
	f.Add(`{"request":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRecorder()
		w.ServeHTTP(r, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		if r.Code != http.StatusOK {
			return
		}
		var sent, got admissionv1.AdmissionReview
		if err := json.Unmarshal(r.Body.Bytes(), &got); err != nil || got.Response == nil {
			t.Fatalf("%s: got %s, %v", body, r.Body, err)
		}
		if len(got.Response.Patch) == 0 || json.NewDecoder(strings.NewReader(body)).Decode(&sent) != nil {
			return
		}
		steps, err := jsonpatch.DecodePatch(got.Response.Patch)
		if err != nil {
			t.Fatalf("%s: got the patch %s, %v", body, got.Response.Patch, err)
		}
		if _, err := steps.Apply(sent.Request.Object.Raw); err != nil {
			t.Errorf("%s: the patch %s cannot be applied: %v", body, got.Response.Patch, err)
		}
	})
}
