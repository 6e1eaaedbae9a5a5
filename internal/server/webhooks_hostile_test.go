package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// overHTTP1 connects to the plane with HTTP/1.1, where a control character makes a header unreadable.
func overHTTP1(t *testing.T, w *testPlane) {
	t.Helper()
	config := rest.CopyConfig(w.config)
	config.NextProtos = []string{"http/1.1"}
	w.connect(t, config)
}

// Clients can read the answer whatever the warnings of a webhook hold, in both versions of HTTP. As in
// Kubernetes, warnings with control characters are left out.
func TestWebhookWarningsAreReadable(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	texts := []string{"a\x1b[2Jb", "bell\a", "tab\t", "delete\x7f", "C1\u009b", "carriage\rreturn", "a\xffb", "",
		"two\nlines", `"quoted" \ text`, "日本"}
	registerWebhook(t, w, validatingPath, "a", startWebhook(t,
		func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true, Warnings: texts}
		}), "")
	// The JSON of the webhook's answer has U+FFFD in place of the byte that is not UTF-8.
	want := []string{"299 - \"a\ufffdb\"", `299 - "two lines"`, `299 - "\"quoted\" \\ text"`, `299 - "日本"`}
	for _, version := range []string{"HTTP/2", "HTTP/1.1"} {
		if version == "HTTP/1.1" {
			overHTTP1(t, w)
		}
		r := w.send(t, http.MethodPost, configMaps, `{"metadata":{"generateName":"a-"}}`).want(t, http.StatusCreated)
		if got := r.header.Values("Warning"); !slices.Equal(got, want) {
			t.Errorf("%s: got warnings %q, want %q", version, got, want)
		}
	}
}

// A webhook that returns very many warnings delays the write no longer than one that returns a few.
func TestManyWebhookWarningsAreLimited(t *testing.T) {
	t.Parallel()
	w := start(t)
	texts := make([]string, 50_000)
	for i := range texts {
		texts[i] = fmt.Sprintf("warning %06d", i)
	}
	registerWebhook(t, w, validatingPath, "a", startWebhook(t,
		func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true, Warnings: texts}
		}), "")
	r := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
	got := r.header.Values("Warning")
	if len(got) != 293 || got[0] != `299 - "warning 000000"` { // 293 of 14 characters are the first to exceed 4096
		t.Errorf("got %d warnings, want the first 293", len(got))
	}
}

// A status code of a webhook that is none of HTTP's becomes a 400 below 400, as in Kubernetes, and a 500 if it
// cannot be sent. Other codes are sent as they are.
func TestWebhookStatusCodes(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	for code, want := range map[int32]int{-1: 400, 0: 400, 99: 400, 101: 400, 204: 400, 304: 400, 418: 418, 599: 599,
		999: 999, 1000: 500, 99999: 500, 1<<31 - 1: 500} {
		name := fmt.Sprintf("code%d", uint32(code))
		registerWebhook(t, w, validatingPath, name, startWebhook(t,
			func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
				return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "no", Code: code}}
			}), fmt.Sprintf(`"matchConditions":[{"name":"b","expression":"object.metadata.name == '%s'"}]`, name))
		w.send(t, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":%q}}`, name)).wantError(t, want, "",
			fmt.Sprintf(`admission webhook "%s.example.com" denied the request: no`, name))
	}
}
