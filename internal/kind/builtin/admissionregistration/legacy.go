package admissionregistration

import (
	"encoding/json"

	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// as copies an object into the struct of another version, whose fields have the same names.
func as[T any](from any, to *T) (*T, error) {
	data, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	return to, json.Unmarshal(data, to)
}

// inLegacy shows a configuration as v1beta1.
func inLegacy[T any, P interface {
	*T
	runtime.Object
}](from runtime.Object, to P) (runtime.Object, error) {
	if _, err := as(from, (*T)(to)); err != nil {
		return nil, err
	}
	to.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(legacy, from.GetObjectKind().GroupVersionKind().Kind))
	return to, nil
}

// defaultLegacyMutating fills in what v1beta1 means otherwise than v1: see defaultLegacy.
func defaultLegacyMutating(c *admissionv1beta1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaultLegacy(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
	}
}

// defaultLegacyValidating fills in what v1beta1 means otherwise than v1: see defaultLegacy.
func defaultLegacyValidating(c *admissionv1beta1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaultLegacy(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
	}
}

// defaultLegacy sets the defaults that v1beta1 has of its own: failures are ignored, only exact matches count, 30 seconds, side
// effects that nobody knows, and reviews in v1beta1.
func defaultLegacy(failure **admissionv1beta1.FailurePolicyType, match **admissionv1beta1.MatchPolicyType,
	effects **admissionv1beta1.SideEffectClass, timeout **int32, reviews *[]string) {
	setDefault(failure, admissionv1beta1.Ignore)
	setDefault(match, admissionv1beta1.Exact)
	setDefault(effects, admissionv1beta1.SideEffectClassUnknown)
	setDefault(timeout, 30)
	if len(*reviews) == 0 {
		*reviews = []string{"v1beta1"}
	}
}

// setDefault sets what is left out.
func setDefault[T any](at **T, value T) {
	if *at == nil {
		*at = &value
	}
}

// everything is a selector that is not left out any longer.
func everything(at **metav1.LabelSelector) { setDefault(at, metav1.LabelSelector{}) }
