package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
)

type fieldErrors = field.ErrorList

// Supported values, in the order in which error messages list them.
var (
	failures   = []admissionv1.FailurePolicyType{admissionv1.Fail, admissionv1.Ignore}
	matches    = []admissionv1.MatchPolicyType{admissionv1.Equivalent, admissionv1.Exact}
	dryRunSafe = []admissionv1.SideEffectClass{admissionv1.SideEffectClassNone,
		admissionv1.SideEffectClassNoneOnDryRun}
	effects = append(slices.Clone(dryRunSafe), admissionv1.SideEffectClassSome,
		admissionv1.SideEffectClassUnknown)
	reinvocations = []admissionv1.ReinvocationPolicyType{admissionv1.IfNeededReinvocationPolicy,
		admissionv1.NeverReinvocationPolicy}
	known = []string{"v1", "v1beta1"}
)

// allowances lists rules that a configuration may violate, because it was stored before they existed.
type allowances struct {
	effects, reviews, twice, selectors, conditions bool
	// expressions are those of the old object.
	expressions []string
}

// allowed returns the allowances for a configuration in v1beta1, whose rules were weaker: side effects,
// unknown review versions, and duplicate names.
func allowed(apiVersion string) allowances {
	old := apiVersion == legacy
	return allowances{effects: old, reviews: old, twice: old}
}

// allowedBefore adds the violations of the old object.
func allowedBefore(a allowances, hooks, old []view) allowances {
	a.twice, a.conditions = a.twice || repeats(old), sameConditions(hooks, old)
	for _, h := range old {
		a.effects = a.effects || h.effects == nil || !slices.Contains(dryRunSafe, *h.effects)
		a.reviews = a.reviews || len(h.reviews) > 0 && !slices.ContainsFunc(h.reviews, isKnown)
		strict := metav1validation.LabelSelectorValidationOptions{}
		a.selectors = a.selectors || len(validateSelector(*h.namespaces, strict, nil)) > 0 ||
			len(validateSelector(*h.objects, strict, nil)) > 0
		for _, c := range h.conditions {
			a.expressions = append(a.expressions, c.Expression)
		}
	}
	return a
}

func isKnown(version string) bool { return slices.Contains(known, version) }

func repeats(hooks []view) bool {
	names := map[string]bool{}
	for _, h := range hooks {
		if names[h.name] {
			return true
		}
		names[h.name] = true
	}
	return false
}

func sameConditions(a, b []view) bool {
	return slices.EqualFunc(a, b, func(a, b view) bool { return slices.Equal(a.conditions, b.conditions) })
}

func validateWebhooks(hooks []view, a allowances) (errs fieldErrors) {
	if err := costlyConditions(hooks, a); err != nil {
		return fieldErrors{err} // validation compiles the conditions
	}
	names := map[string]bool{}
	for i, h := range hooks {
		path := field.NewPath("webhooks").Index(i)
		errs = append(errs, validateWebhook(h, a, path)...)
		errs = append(errs, validateReviews(h.reviews, a, path.Child("admissionReviewVersions"))...)
		if names[h.name] && !a.twice {
			errs = append(errs, field.Duplicate(path.Child("name"), h.name))
		}
		names[h.name] = h.name != ""
	}
	return errs
}

func validateWebhook(h view, a allowances, path *field.Path) fieldErrors {
	errs := validation.IsFullyQualifiedName(path.Child("name"), h.name)
	for i, r := range h.rules {
		errs = append(errs, validateRule(r, path.Child("rules").Index(i))...)
	}
	errs = append(errs, oneOf(*h.failure, failures, path.Child("failurePolicy"))...)
	errs = append(errs, oneOf(*h.match, matches, path.Child("matchPolicy"))...)
	may := dryRunSafe
	if a.effects {
		may = effects
	}
	if h.effects == nil {
		errs = append(errs, field.Required(path.Child("sideEffects"), "must specify one of "+list(may)))
	}
	errs = append(errs, oneOf(h.effects, may, path.Child("sideEffects"))...)
	if t := *h.timeout; t != nil && (*t < 1 || *t > 30) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *t,
			"the timeout value must be between 1 and 30 seconds"))
	}
	options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: a.selectors}
	errs = append(errs, validateSelector(*h.namespaces, options, path.Child("namespaceSelector"))...)
	errs = append(errs, validateSelector(*h.objects, options, path.Child("objectSelector"))...)
	if h.reinvocation != nil {
		errs = append(errs, oneOf(*h.reinvocation, reinvocations, path.Child("reinvocationPolicy"))...)
	}
	errs = append(errs, validateClient(h.client, path.Child("clientConfig"))...)
	if !a.conditions {
		errs = append(errs, validateConditions(h.conditions, a.expressions, path.Child("matchConditions"))...)
	}
	return errs
}

func validateSelector(s *metav1.LabelSelector, o metav1validation.LabelSelectorValidationOptions,
	path *field.Path) fieldErrors {
	if s == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(s, o, path)
}

// oneOf requires an optional value to be in a list.
func oneOf[T ~string](value *T, of []T, path *field.Path) fieldErrors {
	if value == nil || slices.Contains(of, *value) {
		return nil
	}
	return fieldErrors{field.NotSupported(path, *value, of)}
}

func list[T ~string](values []T) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return strings.Join(texts, ", ")
}

func validateClient(c *admissionv1.WebhookClientConfig, path *field.Path) fieldErrors {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return fieldErrors{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return webhook.ValidateWebhookURL(path.Child("url"), *c.URL, true)
	}
	s, port := c.Service, int32(443)
	if s.Port != nil {
		port = *s.Port
	}
	// Name and namespace are swapped, as in Kubernetes: the errors name the other field.
	return webhook.ValidateWebhookService(path.Child("service"), s.Name, s.Namespace, s.Path, port)
}

func validateReviews(versions []string, a allowances, path *field.Path) (errs fieldErrors) {
	if len(versions) == 0 {
		return fieldErrors{field.Required(path, "must specify one of "+list(known))}
	}
	for i, v := range versions {
		if slices.Contains(versions[:i], v) {
			errs = append(errs, field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		for _, problem := range validation.IsDNS1035Label(v) {
			errs = append(errs, field.Invalid(path.Index(i), v, problem))
		}
	}
	if !a.reviews && !slices.ContainsFunc(versions, isKnown) {
		errs = append(errs, field.Invalid(path, versions, fmt.Sprintf("must include at least one of %s", list(known))))
	}
	return errs
}
