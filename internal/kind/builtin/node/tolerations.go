package node

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// validateTolerations validates the tolerations that pods of a class get. Unlike those of pods, they must be unique;
// two that differ only in tolerationSeconds count as equal.
func validateTolerations(tolerations []corev1.Toleration, path *field.Path) (errs field.ErrorList) {
	for i := range tolerations {
		if len(errs) >= maxErrors {
			break
		}
		errs = append(errs, validateToleration(&tolerations[i], path.Index(i))...)
	}
	seen := map[corev1.Toleration]bool{}
	for i, t := range tolerations {
		key := t
		key.TolerationSeconds = nil
		if seen[key] && len(errs) < maxErrors {
			errs = append(errs, field.Duplicate(path.Index(i), podspec.Layout(t)))
		}
		seen[key] = true
	}
	return errs
}

func validateToleration(t *corev1.Toleration, path *field.Path) (errs field.ErrorList) {
	if t.Key != "" {
		errs = append(errs, metavalidation.ValidateLabelName(t.Key, path.Child("key"))...)
	} else if t.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(path.Child("operator"), t.Operator,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, field.Invalid(path.Child("effect"), t.Effect,
			"effect must be 'NoExecute' when `tolerationSeconds` is set"))
	}
	errs = append(errs, validateOperator(t, path.Child("operator"))...)
	if t.Effect != "" {
		errs = append(errs, fieldcheck.OneOf(path.Child("effect"), t.Effect, corev1.TaintEffectNoSchedule,
			corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
	}
	return errs
}

// validateOperator validates operator and value; an empty operator means Equal. Errors of both refer to the operator.
// Kubernetes rejects Lt and Gt in a runtime class, although the error lists them as supported.
func validateOperator(t *corev1.Toleration, path *field.Path) field.ErrorList {
	supported := []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if messages := validation.IsValidLabelValue(t.Value); len(messages) > 0 {
			return field.ErrorList{field.Invalid(path, t.Value, strings.Join(messages, ";"))}
		}
		return nil
	case corev1.TolerationOpExists:
		if t.Value != "" {
			return field.ErrorList{field.Invalid(path, t.Value, "value must be empty when `operator` is 'Exists'")}
		}
		return nil
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		supported = append(supported, corev1.TolerationOpLt, corev1.TolerationOpGt)
	}
	return field.ErrorList{field.NotSupported(path, t.Operator, supported)}
}
