package webhook

import (
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind/caller"
)

// FuzzAnswer lets a webhook answer any body, and return any patch of a Pod. An answer is rejected, or it rejects the
// write with a Status, or the patched object is encoded as JSON of the same kind. A validating webhook changes nothing.
func FuzzAnswer(f *testing.F) {
	for _, answer := range []string{
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID","allowed":true}}`,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID","allowed":false,"status":{"code":99999,"message":"no"},"warnings":["\u0000"]}}`,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID","allowed":true,"patchType":"JSONPatch","patch":"W10="}}`,
		`{"kind":"AdmissionReview"}`, `null`, `[]`, `a: &a [*a]`, `{"apiVersion":"v1","kind":"Status","code":400}`,
	} {
		for _, patch := range []string{
			`[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`, `[{"op":"remove","path":"/kind"}]`, `[null]`,
			`[{"op":"replace","path":"","value":null}]`, `[{"op":"replace","path":"/spec","value":{"containers":[{}]}}]`, ``,
		} {
			f.Add(answer, patch, true, true)
			f.Add(strings.ReplaceAll(answer, "/v1", "/v1beta1"), patch, false, false)
		}
	}
	codec, err := caller.Codec([]schema.GroupVersion{admissionv1.SchemeGroupVersion, admissionv1beta1.SchemeGroupVersion},
		admissionv1.AddToScheme, admissionv1beta1.AddToScheme)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer, patch string, mutates, current bool) {
		h := hookOf(t, func(w *admissionregistrationv1.MutatingWebhook) {}, rule("*", "", "v1", "pods"))
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
		s, err := newSubject(write(t, admission.Create, podsV1, "", pod), podsV1.GroupVersion())
		if err != nil {
			t.Fatal(err)
		}
		version := "v1beta1"
		if current {
			version = "v1"
		}
		r, err := newReview([]string{version}, s)
		if err != nil {
			t.Fatal(err)
		}
		r.uid = "UID"
		if runtime.DecodeInto(codec, []byte(answer), r.response) != nil {
			return
		}
		response, err := r.result(mutates)
		if err != nil {
			return
		}
		if !response.Allowed {
			if text, err := json.Marshal(webhookerrors.ToStatusErr(h.Name, response.Result)); err != nil {
				t.Errorf("%s rejects with %s, %v", answer, text, err)
			}
			return
		}
		if patch != "" && mutates {
			response.Patch, response.PatchType = []byte(patch), new(admissionv1.PatchTypeJSONPatch)
		}
		if !mutates && len(response.Patch) > 0 {
			t.Fatalf("%s: a validating webhook returns the patch %s", answer, response.Patch)
		}
		if _, err := h.apply(s, response); err != nil {
			return
		}
		now, _, err := s.encode()
		var read corev1.Pod
		if err != nil || json.Unmarshal(now, &read) != nil || read.Kind != "Pod" || read.APIVersion != "v1" {
			t.Errorf("%s with the patch %s makes %s, %v", answer, patch, now, err)
		}
	})
}
