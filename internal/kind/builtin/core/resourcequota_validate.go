package core

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// quotaScopes maps the scopes of a quota to the resources that they apply to; nil means those of pods.
var quotaScopes = map[corev1.ResourceQuotaScope][]corev1.ResourceName{
	corev1.ResourceQuotaScopeTerminating:               nil,
	corev1.ResourceQuotaScopeNotTerminating:            nil,
	corev1.ResourceQuotaScopeNotBestEffort:             nil,
	corev1.ResourceQuotaScopePriorityClass:             nil,
	corev1.ResourceQuotaScopeCrossNamespacePodAffinity: nil,
	corev1.ResourceQuotaScopeBestEffort:                {corev1.ResourcePods},
	corev1.ResourceQuotaScopeVolumeAttributesClass: {corev1.ResourcePersistentVolumeClaims,
		corev1.ResourceRequestsStorage},
}

// quotaOfPods are the resources of pods that scopes apply to.
var quotaOfPods = []corev1.ResourceName{
	corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
}

func validateResourceQuota(q, old *corev1.ResourceQuota, sub string) (errs field.ErrorList) {
	errs = fieldcheck.Finalizers(q)
	if sub == "status" {
		return append(errs, validateQuotaStatus(q)...)
	}
	spec := field.NewPath("spec")
	errs = append(errs, validateQuotaResources(q.Spec.Hard, spec.Child("hard"))...)
	errs = append(errs, validateQuotaScopes(q.Spec, spec)...)
	if q.Spec.ScopeSelector != nil {
		errs = append(errs, validateScopeSelector(q.Spec, spec)...)
	}
	if old != nil && !sameScopes(old.Spec.Scopes, q.Spec.Scopes) {
		errs = append(errs, field.Invalid(spec.Child("scopes"), q.Spec.Scopes, apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}

func validateQuotaStatus(q *corev1.ResourceQuota) field.ErrorList {
	status := field.NewPath("status")
	return append(validateQuotaResources(q.Status.Hard, status.Child("hard")),
		validateQuotaResources(q.Status.Used, status.Child("used"))...)
}

// validateQuotaResources validates the names and quantities of a quota.
func validateQuotaResources(list corev1.ResourceList, path *field.Path) (errs field.ErrorList) {
	for _, name := range fieldcheck.SortedKeys(list) {
		at, q := path.Key(string(name)), list[name]
		errs = append(errs, quotaName(name, at)...)
		if q.Sign() < 0 {
			errs = append(errs, field.Invalid(at, q.String(), apivalidation.IsNegativeErrorMsg))
		}
		if podspec.IsWhole(name) && q.MilliValue()%1000 != 0 {
			errs = append(errs, field.Invalid(at, q, "must be an integer"))
		}
	}
	return errs
}

// quotaName validates the name of a resource in a quota: a standard one, one with a domain, or
// count/RESOURCE.GROUP.
func quotaName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := fieldcheck.Invalid(path, name, validation.IsQualifiedName(string(name)))
	if strings.Contains(string(name), "/") {
		return errs
	}
	if errs == nil && !podspec.IsStandard(name) && !isQuotaOfPages(name) {
		errs = append(errs, field.Invalid(path, name, "must be a standard resource type or fully qualified"))
	}
	if !isQuota(name) {
		errs = append(errs, field.Invalid(path, name, "must be a standard resource for quota"))
	}
	return errs
}

// isQuota reports whether a name without a domain is valid in a quota.
func isQuota(name corev1.ResourceName) bool {
	return podspec.IsStandard(name) && name != corev1.ResourceStorage || isQuotaOfPages(name)
}

func isQuotaOfPages(name corev1.ResourceName) bool {
	return podspec.IsHugePages(name) || strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// validateQuotaScopes reports each violated rule once, as all errors show the whole list.
func validateQuotaScopes(spec corev1.ResourceQuotaSpec, path *field.Path) (errs field.ErrorList) {
	at := path.Child("scopes")
	outside, unknown, unsuitable := scopesOf(spec.Hard), false, false
	for _, scope := range spec.Scopes {
		if _, known := quotaScopes[scope]; !known && !unknown {
			errs = append(errs, field.Invalid(at, spec.Scopes, "unsupported scope"))
			unknown = true
		}
		if !unsuitable && outside(scope) {
			errs = append(errs, field.Invalid(at, spec.Scopes, "unsupported scope applied to resource"))
			unsuitable = true
		}
	}
	return append(errs, validateScopePairs(spec.Scopes, spec, at)...)
}

// maxScopeErrors is the number of errors after which scopes are no longer checked.
const maxScopeErrors = 1_000

// scopesOf returns a function that reports whether a quota has resources that a scope does not apply to. The function
// remembers its results.
func scopesOf(hard corev1.ResourceList) func(corev1.ResourceQuotaScope) bool {
	results := map[corev1.ResourceQuotaScope]bool{}
	return func(scope corev1.ResourceQuotaScope) bool {
		outside, checked := results[scope]
		if !checked {
			outside = isOutOfScope(hard, scope)
			results[scope] = outside
		}
		return outside
	}
}

// isOutOfScope reports whether a quota has resources that a scope does not apply to.
func isOutOfScope(hard corev1.ResourceList, scope corev1.ResourceQuotaScope) bool {
	counted, known := quotaScopes[scope]
	if !known {
		return false
	}
	if counted == nil {
		counted = quotaOfPods
	}
	for name := range hard {
		if isQuota(name) && !slices.Contains(counted, name) {
			return true
		}
	}
	return false
}

// validateScopePairs rejects pairs of scopes that no pod can have.
func validateScopePairs(scopes []corev1.ResourceQuotaScope, spec corev1.ResourceQuotaSpec,
	path *field.Path) field.ErrorList {
	for _, pair := range [][2]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
	} {
		if slices.Contains(scopes, pair[0]) && slices.Contains(scopes, pair[1]) {
			return field.ErrorList{field.Invalid(path, spec.Scopes, "conflicting scopes")}
		}
	}
	return nil
}

func validateScopeSelector(spec corev1.ResourceQuotaSpec, path *field.Path) (errs field.ErrorList) {
	at := path.Child("scopeSelector", "matchExpressions")
	var scopes []corev1.ResourceQuotaScope
	outside, unsuitable := scopesOf(spec.Hard), false
	for _, r := range spec.ScopeSelector.MatchExpressions {
		if len(errs) > maxScopeErrors {
			return errs
		}
		if _, known := quotaScopes[r.ScopeName]; !known {
			errs = append(errs, field.Invalid(at.Child("scopeName"), r.ScopeName, "unsupported scope"))
		}
		if !unsuitable && outside(r.ScopeName) {
			errs = append(errs, field.Invalid(at, podspec.Layout(spec.ScopeSelector),
				"unsupported scope applied to resource"))
			unsuitable = true
		}
		errs = append(errs, validateScopeOperator(r, at)...)
		scopes = append(scopes, r.ScopeName)
	}
	return append(errs, validateScopePairs(scopes, spec, at)...)
}

// valuedScopes are the scopes with values; others support only the operator Exists.
var valuedScopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopePriorityClass,
	corev1.ResourceQuotaScopeVolumeAttributesClass}

func validateScopeOperator(r corev1.ScopedResourceSelectorRequirement, path *field.Path) (errs field.ErrorList) {
	operator, values := path.Child("operator"), path.Child("values")
	_, known := quotaScopes[r.ScopeName]
	if known && !slices.Contains(valuedScopes, r.ScopeName) && r.Operator != corev1.ScopeSelectorOpExists {
		errs = append(errs, field.Invalid(operator, r.Operator,
			"must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "+
				"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"))
	}
	switch r.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs, field.Required(values,
				"must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(r.Values) != 0 {
			errs = append(errs, field.Invalid(values, r.Values,
				"must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
		}
	default:
		errs = append(errs, field.Invalid(operator, r.Operator, "not a valid selector operator"))
	}
	return errs
}

// sameScopes compares scopes as sets.
func sameScopes(a, b []corev1.ResourceQuotaScope) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
