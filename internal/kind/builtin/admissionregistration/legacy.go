package admissionregistration

import (
	"encoding/json"

	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// convertJSON copies an object into the struct of another version, whose fields have the same names.
func convertJSON[T any](from any, to *T) (*T, error) {
	data, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	return to, json.Unmarshal(data, to)
}

// inLegacy converts a configuration to v1beta1.
func inLegacy[T any, P interface {
	*T
	runtime.Object
}](from runtime.Object, to P) (runtime.Object, error) {
	if _, err := convertJSON(from, (*T)(to)); err != nil {
		return nil, err
	}
	to.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(legacy,
		from.GetObjectKind().GroupVersionKind().Kind))
	return to, nil
}

// defaultLegacyMutating sets the defaults in which v1beta1 differs from v1: see defaultLegacy.
func defaultLegacyMutating(c *admissionv1beta1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaultLegacy(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
	}
}

// defaultLegacyValidating sets the defaults in which v1beta1 differs from v1: see defaultLegacy.
func defaultLegacyValidating(c *admissionv1beta1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaultLegacy(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
	}
}

// defaultLegacy sets v1beta1's defaults: failures are ignored, only exact matches count, 30 seconds, unknown
// side effects, and reviews in v1beta1.
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

// setDefault sets a missing value.
func setDefault[T any](at **T, value T) {
	if *at == nil {
		*at = &value
	}
}

// defaultSelector sets a missing selector to one that selects everything.
func defaultSelector(at **metav1.LabelSelector) { setDefault(at, metav1.LabelSelector{}) }
