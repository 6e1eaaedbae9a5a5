package sidecar

import (
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebhookName is the name of the webhook in the server's errors. WebhookConfiguration is the name of its
// MutatingWebhookConfiguration.
const WebhookName, WebhookConfiguration = "envoy.sidecar.bowline.example.com", "envoy-sidecar"

// largestReview is the maximum size of a request in bytes: two versions of an object, with room for the rest
// of the review.
const largestReview = 8 << 20

// Webhook answers AdmissionReviews of new pods with a patch. It has no state and writes nothing, so it may be
// called several times for a pod, for a dry run, or for a pod that is rejected later.
type Webhook struct {
	Options
	// Template returns the current template. If it fails, the request fails, and the failure policy of the
	// configuration decides about the pod.
	Template func() (*Template, error)
}

// ServeHTTP implements http.Handler.
func (w *Webhook) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	err := json.NewDecoder(http.MaxBytesReader(answer, r.Body, largestReview)).Decode(&review)
	if err != nil || review.Request == nil {
		http.Error(answer, fmt.Sprintf("send an AdmissionReview with a request: %v", err), http.StatusBadRequest)
		return
	}
	patch, err := w.patch(review.Request)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusInternalServerError)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if patch != nil {
		review.Response.Patch, review.Response.PatchType = patch, new(admissionv1.PatchTypeJSONPatch)
	}
	review.Request = nil
	answer.Header().Set("Content-Type", "application/json")
	json.NewEncoder(answer).Encode(review) // the server notices a broken connection too
}

// patch returns the patch for a new pod; nil if nothing is missing, and for all other requests.
func (w *Webhook) patch(r *admissionv1.AdmissionRequest) ([]byte, error) {
	if r.Kind != metav1.GroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod")) ||
		r.Operation != admissionv1.Create || r.SubResource != "" {
		return nil, nil
	}
	var pod corev1.Pod
	if err := json.Unmarshal(r.Object.Raw, &pod); err != nil {
		return nil, fmt.Errorf("read the pod: %w", err)
	}
	if !w.Wants(pod.Annotations) {
		return nil, nil
	}
	t, err := w.Template()
	if err != nil {
		return nil, err
	}
	return t.JSONPatch(&pod)
}

// Configuration returns a configuration with which a server calls the webhook at a URL for each new pod.
// authority is the PEM certificate of its authority. If the webhook does not answer, the pod is rejected.
func (o Options) Configuration(url string, authority []byte) *admissionregistrationv1.MutatingWebhookConfiguration {
	w := admissionregistrationv1.MutatingWebhook{
		Name:         WebhookName,
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"},
				Scope: new(admissionregistrationv1.NamespacedScope),
			},
		}},
		FailurePolicy:           new(admissionregistrationv1.Fail),
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          new(int32(5)),
		AdmissionReviewVersions: []string{"v1"},
		// A later webhook may add a container that needs the proxy too, or remove the proxy.
		ReinvocationPolicy: new(admissionregistrationv1.IfNeededReinvocationPolicy),
	}
	if o.OnlyAnnotated { // other pods do not depend on the webhook
		w.MatchConditions = []admissionregistrationv1.MatchCondition{{
			Name: "annotated", Expression: `object.metadata.?annotations['` + Annotation + `'].orValue('') == 'true'`,
		}}
	}
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: WebhookConfiguration},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{w},
	}
}
