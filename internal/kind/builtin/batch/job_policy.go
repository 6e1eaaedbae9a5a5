package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// Limits on policies.
const (
	maxRules      = 20
	maxExitCodes  = 255
	maxConditions = 20
	maxIndexText  = 64 << 10 // bytes of succeededIndexes of a success rule
)

var (
	failureActions = []batchv1.PodFailurePolicyAction{
		batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore,
	}
	exitCodeOperators = []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn,
		batchv1.PodFailurePolicyOnExitCodesOpNotIn}
	statuses = []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
)

// checkChoice validates a required value against the supported ones.
func checkChoice[T ~string](path *field.Path, value T, supported []T) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(path, fmt.Sprintf("valid values: %q", supported))}
	case !slices.Contains(supported, value):
		return field.ErrorList{field.NotSupported(path, value, supported)}
	}
	return nil
}

// validateFailurePolicy validates the rules that define the effect of a failed pod on its job.
func validateFailurePolicy(spec *batchv1.JobSpec, path *field.Path) (errs field.ErrorList) {
	rules := spec.PodFailurePolicy.Rules
	if len(rules) > maxRules {
		errs = append(errs, field.TooMany(path, len(rules), maxRules))
	}
	for i := range rules {
		errs = append(errs, validateFailureRule(spec, &rules[i], path.Index(i))...)
	}
	return errs
}

func validateFailureRule(spec *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, path *field.Path) field.ErrorList {
	action := path.Child("action")
	errs := checkChoice(action, rule.Action, failureActions)
	if rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Invalid(action, rule.Action, "requires the backoffLimitPerIndex to be set"))
	}
	codes, conditions := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0
	if codes {
		errs = append(errs, validateExitCodes(spec, rule.OnExitCodes, path.Child("onExitCodes"))...)
	}
	if conditions {
		errs = append(errs, validateConditions(rule.OnPodConditions, path.Child("onPodConditions"))...)
	}
	switch {
	case codes && conditions:
		errs = append(errs, field.Invalid(path, field.OmitValueType{},
			"specifying both OnExitCodes and OnPodConditions is not supported"))
	case !codes && !conditions:
		errs = append(errs, field.Invalid(path, field.OmitValueType{},
			"specifying one of OnExitCodes and OnPodConditions is required"))
	}
	return errs
}

func validateConditions(patterns []batchv1.PodFailurePolicyOnPodConditionsPattern,
	path *field.Path) (errs field.ErrorList) {
	if len(patterns) > maxConditions {
		errs = append(errs, field.TooMany(path, len(patterns), maxConditions))
	}
	for i, p := range patterns {
		errs = append(errs, fieldcheck.Invalid(path.Index(i).Child("type"), string(p.Type),
			validation.IsQualifiedName(string(p.Type)))...)
		errs = append(errs, checkChoice(path.Index(i).Child("status"), p.Status, statuses)...)
	}
	return errs
}

// validateExitCodes validates a list of exit codes: it must be sorted, without duplicates, and without 0 if
// it lists failures.
func validateExitCodes(spec *batchv1.JobSpec, r *batchv1.PodFailurePolicyOnExitCodesRequirement,
	path *field.Path) field.ErrorList {
	errs := checkChoice(path.Child("operator"), r.Operator, exitCodeOperators)
	if r.ContainerName != nil && !hasContainer(&spec.Template.Spec, *r.ContainerName) {
		errs = append(errs, field.Invalid(path.Child("containerName"), *r.ContainerName,
			"must be one of the container or initContainer names in the pod template"))
	}
	values := path.Child("values")
	switch {
	case len(r.Values) == 0:
		errs = append(errs, field.Invalid(values, r.Values, "at least one value is required"))
	case len(r.Values) > maxExitCodes:
		errs = append(errs, field.TooMany(values, len(r.Values), maxExitCodes))
	}
	for i, code := range r.Values {
		if r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && code == 0 {
			errs = append(errs, field.Invalid(values.Index(i), code, "must not be 0 for the In operator"))
		}
		if slices.Contains(r.Values[:i], code) {
			errs = append(errs, field.Duplicate(values.Index(i), code))
		}
	}
	if !slices.IsSorted(r.Values) {
		errs = append(errs, field.Invalid(values, r.Values, "must be ordered"))
	}
	return errs
}

func hasContainer(spec *corev1.PodSpec, name string) bool {
	named := func(c corev1.Container) bool { return c.Name == name }
	return slices.ContainsFunc(spec.Containers, named) || slices.ContainsFunc(spec.InitContainers, named)
}

// validateSuccessPolicy validates the rules by which an indexed job succeeds before all of its pods have.
func validateSuccessPolicy(spec *batchv1.JobSpec, path *field.Path) (errs field.ErrorList) {
	switch {
	case spec.SuccessPolicy == nil:
		return nil
	case !indexed(spec):
		return field.ErrorList{field.Invalid(path, podspec.Layout(spec.SuccessPolicy),
			"requires indexed completion mode")}
	}
	path = path.Child("rules")
	rules := spec.SuccessPolicy.Rules
	if len(rules) == 0 {
		errs = append(errs, field.Required(path,
			"at least one rules must be specified when the successPolicy is specified"))
	}
	if len(rules) > maxRules {
		errs = append(errs, field.TooMany(path, len(rules), maxRules))
	}
	for i := range rules {
		errs = append(errs, validateSuccessRule(&rules[i], deref(spec.Completions), path.Index(i))...)
	}
	return errs
}

func validateSuccessRule(rule *batchv1.SuccessPolicyRule, completions int32, path *field.Path) (errs field.ErrorList) {
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		errs = append(errs, field.Required(path,
			"at least one of succeededCount or succeededIndexes must be specified"))
	}
	var total int32
	if text := rule.SucceededIndexes; text != nil {
		at := path.Child("succeededIndexes")
		if len(*text) > maxIndexText {
			errs = append(errs, field.TooLong(at, "", maxIndexText))
		}
		var err error
		if total, err = countIndexes(*text, completions); err != nil {
			errs = append(errs, field.Invalid(at, *text, "error parsing succeededIndexes: "+err.Error()))
		}
	}
	if n := rule.SucceededCount; n != nil {
		at := path.Child("succeededCount")
		errs = append(errs, nonNegative(at, n)...)
		if *n > completions {
			errs = append(errs, field.Invalid(at, *n,
				fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)))
		}
		if rule.SucceededIndexes != nil && *n > total {
			errs = append(errs, field.Invalid(at, *n,
				fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total)))
		}
	}
	return errs
}
