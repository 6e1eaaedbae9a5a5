package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

func validateJob(j, old *batchv1.Job, sub string) field.ErrorList {
	if sub == "status" {
		return validateJobStatus(j, old)
	}
	path := field.NewPath("spec")
	errs := validateOwnSelector(j, old, path)
	spec := validateWholeSpec(j, old, path)
	errs = append(errs, spec...)
	errs = append(errs, validateHostnames(j)...)
	if old != nil {
		errs = append(errs, spec...) // Kubernetes reports these errors twice
		errs = append(errs, validateJobUpdate(j, old, path)...)
	}
	return errs
}

// validateOwnSelector checks that a job with a generated selector selects exactly its own pods. Jobs from
// before the prefixed labels need not have them.
func validateOwnSelector(j, old *batchv1.Job, path *field.Path) (errs field.ErrorList) {
	if deref(j.Spec.ManualSelector) || j.Spec.Selector == nil {
		return nil
	}
	if j.UID == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "uid"), ""))
	}
	want := []struct{ label, value string }{{oldUIDLabel, string(j.UID)}, {oldNameLabel, j.Name}}
	if old == nil || hasLabel(old, batchv1.JobNameLabel) && hasLabel(old, batchv1.ControllerUidLabel) {
		want = append(want, struct{ label, value string }{batchv1.ControllerUidLabel, string(j.UID)},
			struct{ label, value string }{batchv1.JobNameLabel, j.Name})
	}
	made, template := labels.Set{}, path.Child("template", "metadata", "labels")
	for _, w := range want {
		made[w.label] = w.value
		if got, ok := j.Spec.Template.Labels[w.label]; !ok {
			errs = append(errs, field.Required(template.Key(w.label), "must be '"+w.value+"'"))
		} else if got != w.value {
			errs = append(errs, field.Invalid(template.Key(w.label), j.Spec.Template.Labels, "must be '"+w.value+"'"))
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil && !selector.Matches(made) {
		errs = append(errs, field.Invalid(path.Child("selector"), j.Spec.Selector, "`selector` not auto-generated"))
	}
	return errs
}

func hasLabel(j *batchv1.Job, label string) bool {
	_, ok := j.Spec.Template.Labels[label]
	return ok
}

// validateWholeSpec validates the spec of a job, including that the selector exists and matches the template.
func validateWholeSpec(j, old *batchv1.Job, path *field.Path) field.ErrorList {
	spec := &j.Spec
	lenient := false
	var oldTemplate *corev1.PodTemplateSpec
	if old != nil {
		oldTemplate, lenient = &old.Spec.Template, metavalidation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector)
	}
	errs := validateJobSpec(spec, oldTemplate, path)
	if spec.Selector == nil {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	} else {
		options := metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: lenient}
		errs = append(errs, metavalidation.ValidateLabelSelector(spec.Selector, options, path.Child("selector"))...)
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err == nil && !selector.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels"), spec.Template.Labels,
			"`selector` does not match template `labels`"))
	}
	return errs
}

// validateHostnames checks that the name of the last pod of an indexed job is a valid host name.
func validateHostnames(j *batchv1.Job) field.ErrorList {
	if !indexed(&j.Spec) || deref(j.Spec.Completions) <= 0 {
		return nil
	}
	last := fmt.Sprintf("%s-%d", j.Name, *j.Spec.Completions-1)
	if len(validation.IsDNS1123Label(last)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), j.Name,
		"will not able to create pod with invalid DNS label: "+last)}
}

// validateJobSpec validates the parts that jobs and job templates have in common. old is the replaced pod
// template, or nil.
func validateJobSpec(spec *batchv1.JobSpec, old *corev1.PodTemplateSpec, path *field.Path) (errs field.ErrorList) {
	errs = nonNegative(path.Child("parallelism"), spec.Parallelism)
	errs = append(errs, nonNegative(path.Child("completions"), spec.Completions)...)
	errs = append(errs, nonNegative(path.Child("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds)...)
	errs = append(errs, nonNegative(path.Child("backoffLimit"), spec.BackoffLimit)...)
	errs = append(errs, nonNegative(path.Child("ttlSecondsAfterFinished"), spec.TTLSecondsAfterFinished)...)
	errs = append(errs, nonNegative(path.Child("backoffLimitPerIndex"), spec.BackoffLimitPerIndex)...)
	errs = append(errs, nonNegative(path.Child("maxFailedIndexes"), spec.MaxFailedIndexes)...)
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
	}
	errs = append(errs, validateManagedBy(spec.ManagedBy, path.Child("managedBy"))...)
	errs = append(errs, validateCompletionMode(spec, path)...)
	if spec.PodFailurePolicy != nil {
		errs = append(errs, validateFailurePolicy(spec, path.Child("podFailurePolicy", "rules"))...)
	}
	errs = append(errs, validateSuccessPolicy(spec, path.Child("successPolicy"))...)
	errs = append(errs, validateReplacementPolicy(spec, path.Child("podReplacementPolicy"))...)
	errs = append(errs, podspec.ValidateTemplate(&spec.Template, old, path.Child("template"))...)
	errs = append(errs, validateRestartPolicy(spec, path.Child("template", "spec", "restartPolicy"))...)
	if spec.Scheduling != nil { // in Kubernetes, behind the disabled feature gate WorkloadWithJob
		errs = append(errs, field.Forbidden(path.Child("scheduling"), ""))
	}
	return errs
}

func validateManagedBy(manager *string, path *field.Path) field.ErrorList {
	if manager == nil {
		return nil
	}
	const longest = 63
	errs := validation.IsDomainPrefixedPath(path, *manager)
	if len(*manager) > longest {
		errs = append(errs, field.TooLong(path, "", longest))
	}
	return errs
}

// validateRestartPolicy requires OnFailure or Never. Always is the default of pods, so it is reported as a
// missing value.
func validateRestartPolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	switch policy := spec.Template.Spec.RestartPolicy; {
	case policy == corev1.RestartPolicyAlways || policy == "":
		return field.ErrorList{field.Required(path,
			fmt.Sprintf("valid values: %q, %q", corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever))}
	case policy != corev1.RestartPolicyOnFailure && policy != corev1.RestartPolicyNever:
		return field.ErrorList{field.NotSupported(path, policy,
			[]corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever})}
	case spec.PodFailurePolicy != nil && policy != corev1.RestartPolicyNever:
		return field.ErrorList{field.Invalid(path, policy,
			fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever))}
	}
	return nil
}

// validateReplacementPolicy requires Failed for jobs with a failure policy, which can only evaluate pods that
// have failed.
func validateReplacementPolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	if spec.PodReplacementPolicy == nil {
		return nil
	}
	supported := []batchv1.PodReplacementPolicy{batchv1.Failed}
	if spec.PodFailurePolicy == nil {
		supported = append(supported, batchv1.TerminatingOrFailed)
	}
	if !slices.Contains(supported, *spec.PodReplacementPolicy) {
		return field.ErrorList{field.NotSupported(path, *spec.PodReplacementPolicy, supported)}
	}
	return nil
}
