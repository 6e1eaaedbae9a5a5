package policy

import (
	"slices"
	"strconv"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

func validateBudget(b, old *policyv1.PodDisruptionBudget, sub string) (errs field.ErrorList) {
	if sub == "status" {
		return validateStatus(&b.Status, field.NewPath("status"))
	}
	spec, path := &b.Spec, field.NewPath("spec")
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(path, podspec.Layout(spec),
			"minAvailable and maxUnavailable cannot be both set"))
	}
	errs = append(errs, validateShare(spec.MinAvailable, path.Child("minAvailable"))...)
	errs = append(errs, validateShare(spec.MaxUnavailable, path.Child("maxUnavailable"))...)
	lenient := old != nil && metavalidation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector)
	errs = append(errs, metavalidation.ValidateLabelSelector(spec.Selector,
		metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: lenient},
		path.Child("selector"))...)
	policies := []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}
	if p := spec.UnhealthyPodEvictionPolicy; p != nil && !slices.Contains(policies, *p) {
		errs = append(errs, field.NotSupported(path.Child("unhealthyPodEvictionPolicy"), *p, policies))
	}
	return errs
}

// validateShare validates a number or percentage of pods, which may be nil.
func validateShare(share *intstr.IntOrString, path *field.Path) (errs field.ErrorList) {
	switch {
	case share == nil:
		return nil
	case share.Type == intstr.Int:
		return nonNegative(path, share.IntVal)
	}
	messages := validation.IsValidPercent(share.StrVal)
	if len(messages) > 0 {
		return fieldcheck.Invalid(path, *share, messages)
	}
	if n, err := strconv.Atoi(strings.TrimSuffix(share.StrVal, "%")); err == nil && n > 100 {
		errs = append(errs, field.Invalid(path, *share, "must not be greater than 100%"))
	}
	return errs
}

func validateStatus(s *policyv1.PodDisruptionBudgetStatus, path *field.Path) field.ErrorList {
	errs := metavalidation.ValidateConditions(s.Conditions, path.Child("conditions"))
	errs = append(errs, nonNegative(path.Child("disruptionsAllowed"), s.DisruptionsAllowed)...)
	errs = append(errs, nonNegative(path.Child("currentHealthy"), s.CurrentHealthy)...)
	errs = append(errs, nonNegative(path.Child("desiredHealthy"), s.DesiredHealthy)...)
	return append(errs, nonNegative(path.Child("expectedPods"), s.ExpectedPods)...)
}

func nonNegative(path *field.Path, n int32) field.ErrorList {
	if n < 0 {
		return field.ErrorList{field.Invalid(path, int64(n), apivalidation.IsNegativeErrorMsg)}
	}
	return nil
}
