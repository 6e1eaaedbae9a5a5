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

// WebhookName is the name of the webhook, as the server's errors have it, and of its MutatingWebhookConfiguration.
const WebhookName, WebhookConfiguration = "envoy.sidecar.bowline.example.com", "envoy-sidecar"

// largestReview is how much of a question is read, in bytes: two states of an object, and what surrounds them.
const largestReview = 8 << 20

// Webhook answers the server's questions (AdmissionReviews) about new pods with what they miss. It keeps nothing and writes
// nothing, so that it may be asked twice, about a dry run, or about a pod that will never be.
type Webhook struct {
	Options
	// Template gives the newest template. Where it fails, so does the question, and the failure policy of the configuration says
	// whether the pod may be without.
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
	json.NewEncoder(answer).Encode(review) // an error is the connection's, which the server sees too
}

// patch is what a pod that is created misses; nil for nothing, and for what else the server may ask about.
func (w *Webhook) patch(r *admissionv1.AdmissionRequest) ([]byte, error) {
	if r.Kind != metav1.GroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod")) || r.Operation != admissionv1.Create || r.SubResource != "" {
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

// Configuration has a server ask the webhook at a URL, whose certificate authority vouches for (PEM), about each new pod. No pod
// comes to be without an answer.
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
		// A webhook that comes later may add a container that wants the proxy too, or take this one's away.
		ReinvocationPolicy: new(admissionregistrationv1.IfNeededReinvocationPolicy),
	}
	if o.OnlyAnnotated { // others need not wait for the webhook, or fail with it
		w.MatchConditions = []admissionregistrationv1.MatchCondition{{
			Name: "annotated", Expression: `object.metadata.?annotations['` + Annotation + `'].orValue('') == 'true'`,
		}}
	}
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: WebhookConfiguration}, Webhooks: []admissionregistrationv1.MutatingWebhook{w},
	}
}
