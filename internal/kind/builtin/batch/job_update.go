package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// validateJobUpdate rejects changes of fields that determine a job's pods, because old and new pods are
// counted together.
func validateJobUpdate(j, old *batchv1.Job, path *field.Path) field.ErrorList {
	spec, was := &j.Spec, &old.Spec
	errs := validateCompletions(spec, was, path.Child("completions"))
	errs = append(errs, apivalidation.ValidateImmutableField(spec.Selector, was.Selector, path.Child("selector"))...)
	errs = append(errs, validateTemplateUpdate(spec, old, path)...)
	errs = append(errs, apivalidation.ValidateImmutableField(spec.CompletionMode, was.CompletionMode,
		path.Child("completionMode"))...)
	errs = append(errs, immutable(spec.PodFailurePolicy, was.PodFailurePolicy, path.Child("podFailurePolicy"))...)
	errs = append(errs, apivalidation.ValidateImmutableField(spec.BackoffLimitPerIndex, was.BackoffLimitPerIndex,
		path.Child("backoffLimitPerIndex"))...)
	errs = append(errs, apivalidation.ValidateImmutableField(spec.ManagedBy, was.ManagedBy, path.Child("managedBy"))...)
	return append(errs, immutable(spec.SuccessPolicy, was.SuccessPolicy, path.Child("successPolicy"))...)
}

// immutable checks that a struct does not change; the message formats it as Kubernetes does.
func immutable[T any](now, was *T, path *field.Path) field.ErrorList {
	if equality.Semantic.DeepEqual(now, was) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, podspec.Layout(now), apivalidation.FieldImmutableErrorMsg)}
}

// validateCompletions checks that completions of an indexed job change only together with its parallelism, to
// the same number.
func validateCompletions(spec, was *batchv1.JobSpec, path *field.Path) field.ErrorList {
	switch {
	case !indexed(spec):
		return apivalidation.ValidateImmutableField(spec.Completions, was.Completions, path)
	case spec.Completions == nil || equality.Semantic.DeepEqual(spec.Completions, was.Completions):
		return nil
	case *spec.Completions != deref(spec.Parallelism):
		return field.ErrorList{field.Invalid(path, *spec.Completions,
			fmt.Sprintf("can only be modified in tandem with %s", path.Root().Child("parallelism")))}
	}
	return nil
}

// validateTemplateUpdate allows changes of scheduling and resources in the template of a suspended job
// without pods, and no other changes.
func validateTemplateUpdate(spec *batchv1.JobSpec, old *batchv1.Job, path *field.Path) field.ErrorList {
	now, was := &spec.Template, &old.Spec.Template
	idle := deref(old.Spec.Suspend) && old.Status.Active == 0 &&
		(old.Status.StartTime == nil || isTrue(old, batchv1.JobSuspended))
	if !idle {
		if equality.Semantic.DeepEqual(now, was) {
			return nil
		}
		return field.ErrorList{field.Invalid(path.Child("template"), podspec.TemplateLayout(now),
			apivalidation.FieldImmutableErrorMsg)}
	}
	was = rescheduled(was, now)
	copyResources(was.Spec.Containers, now.Spec.Containers)
	copyResources(was.Spec.InitContainers, now.Spec.InitContainers)
	if equality.Semantic.DeepEqual(now.Spec, was.Spec) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("template.spec"), podspec.SpecLayout(&now.Spec),
		apivalidation.FieldImmutableErrorMsg)}
}

// rescheduled returns a copy of was with the scheduling fields of now.
func rescheduled(was, now *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	was = was.DeepCopy()
	to, from := &was.Spec, &now.Spec
	switch {
	case from.Affinity != nil:
		if to.Affinity == nil {
			to.Affinity = &corev1.Affinity{}
		}
		to.Affinity.NodeAffinity = from.Affinity.NodeAffinity
	case to.Affinity != nil:
		to.Affinity.NodeAffinity = nil
		if *to.Affinity == (corev1.Affinity{}) {
			to.Affinity = nil
		}
	}
	to.NodeSelector, to.Tolerations, to.SchedulingGates = from.NodeSelector, from.Tolerations, from.SchedulingGates
	return was
}

// copyResources copies the resources of containers, if the lists have the same length and names.
func copyResources(to, from []corev1.Container) {
	if len(to) != len(from) {
		return
	}
	for i := range to {
		if to[i].Name == from[i].Name {
			to[i].Resources = from[i].Resources
		}
	}
}
