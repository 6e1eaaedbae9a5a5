package admissionregistration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// view refers to the fields of a webhook of either kind, sharing its memory.
type view struct {
	name         string
	client       *admissionv1.WebhookClientConfig
	rules        []admissionv1.RuleWithOperations
	failure      **admissionv1.FailurePolicyType
	match        **admissionv1.MatchPolicyType
	namespaces   **metav1.LabelSelector
	objects      **metav1.LabelSelector
	effects      *admissionv1.SideEffectClass
	timeout      **int32
	reviews      []string
	conditions   []admissionv1.MatchCondition
	reinvocation **admissionv1.ReinvocationPolicyType // nil for a validating webhook
}

func mutatingView(w *admissionv1.MutatingWebhook) view {
	return view{
		name: w.Name, client: &w.ClientConfig, rules: w.Rules, failure: &w.FailurePolicy, match: &w.MatchPolicy,
		namespaces: &w.NamespaceSelector, objects: &w.ObjectSelector, effects: w.SideEffects,
		timeout: &w.TimeoutSeconds,
		reviews: w.AdmissionReviewVersions, conditions: w.MatchConditions, reinvocation: &w.ReinvocationPolicy,
	}
}

func validatingView(w *admissionv1.ValidatingWebhook) view {
	return view{
		name: w.Name, client: &w.ClientConfig, rules: w.Rules, failure: &w.FailurePolicy, match: &w.MatchPolicy,
		namespaces: &w.NamespaceSelector, objects: &w.ObjectSelector, effects: w.SideEffects,
		timeout: &w.TimeoutSeconds,
		reviews: w.AdmissionReviewVersions, conditions: w.MatchConditions,
	}
}

func mutatingViews(c *mutating) (views []view) {
	for i := range c.Webhooks {
		views = append(views, mutatingView(&c.Webhooks[i]))
	}
	return views
}

func validatingViews(c *validating) (views []view) {
	for i := range c.Webhooks {
		views = append(views, validatingView(&c.Webhooks[i]))
	}
	return views
}

// defaultWebhook applies v1's defaults.
func defaultWebhook(w view) {
	setDefault(w.failure, admissionv1.Fail)
	setDefault(w.match, admissionv1.Equivalent)
	defaultSelector(w.namespaces)
	defaultSelector(w.objects)
	setDefault(w.timeout, 10)
	if w.reinvocation != nil {
		setDefault(w.reinvocation, admissionv1.NeverReinvocationPolicy)
	}
	if s := w.client.Service; s != nil {
		setDefault(&s.Port, 443)
	}
	for i := range w.rules {
		setDefault(&w.rules[i].Scope, admissionv1.AllScopes)
	}
}
