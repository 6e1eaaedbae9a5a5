// Package apps defines the kinds of the apps group: replicasets, deployments, statefulsets, daemonsets, and
// controllerrevisions. Each kind has a file with its data, defaults and columns, and its rules if they are
// short.
//
// Validation follows Kubernetes 1.36 (pkg/apis/apps/validation); the tests name the source of each rule.
// Package podspec validates pod templates. Package internal/kind/builtin registers the kinds; no other package
// uses this one.
package apps

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server, in discovery's order. cache bounds the memory for
// cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{
		controllerRevisionKind(cache),
		daemonSetKind(cache),
		deploymentKind(cache),
		replicaSetKind(cache),
		statefulSetKind(cache),
	}
}

func nonNegative[N int32 | int64](path *field.Path, value N) field.ErrorList {
	if value < 0 {
		return field.ErrorList{field.Invalid(path, value, apivalidation.IsNegativeErrorMsg)}
	}
	return nil
}

// atMost checks that part does not exceed whole, which the message calls name.
func atMost(path *field.Path, part, whole int32, name string) field.ErrorList {
	if part > whole {
		return field.ErrorList{field.Invalid(path, part, "cannot be greater than "+name)}
	}
	return nil
}

// validateSelector validates the selector of a deployment or a replicaset, which must not be empty; old is
// nil on create. As in Kubernetes, the message refers to a deployment for both.
func validateSelector(selector, old *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	return append(validLabels(selector, old, path), notEmpty(selector, path, "deployment")...)
}

// validLabels validates the requirements of a selector. Invalid label values are accepted if old has one.
func validLabels(selector, old *metav1.LabelSelector, path *field.Path) field.ErrorList {
	lenient := metavalidation.LabelSelectorHasInvalidLabelValue(old)
	return metavalidation.ValidateLabelSelector(selector,
		metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: lenient}, path)
}

// notEmpty checks that a selector, if there is one, does not select all pods.
func notEmpty(selector *metav1.LabelSelector, path *field.Path, workload string) field.ErrorList {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, selector, "empty selector is invalid for "+workload)}
}

// validateTemplate validates the pod template of a deployment or a replicaset. As in Kubernetes, messages
// refer to a ReplicaSet for both.
func validateTemplate(template, old *corev1.PodTemplateSpec, selector *metav1.LabelSelector,
	path *field.Path) (errs field.ErrorList) {
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return field.ErrorList{field.Invalid(path.Root().Child("selector"), selector, "invalid label selector")}
	}
	errs = append(errs, validateSelects(matches, template, path)...)
	errs = append(errs, podspec.ValidateTemplate(template, old, path)...)
	return append(errs, podspec.ValidateLongRunning(template, path, "ReplicaSet")...)
}

// validateSelects checks that a workload's selector matches its pod template.
func validateSelects(selector labels.Selector, template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if selector.Matches(labels.Set(template.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("metadata", "labels"), template.Labels,
		"`selector` does not match template `labels`")}
}

// validateCollisionCount checks that the count of hash collisions in a status does not decrease.
func validateCollisionCount(path *field.Path, now, was *int32) field.ErrorList {
	if was == nil || now != nil && *now >= *was {
		return nil
	}
	if now == nil {
		now = new(int32)
	}
	return field.ErrorList{field.Invalid(path, *now, "cannot be decremented")}
}

// workload constrains pointers to the structs of the group's kinds.
type workload interface {
	comparable
	kind.Object
}

// workloadWarnings returns a function that warns about a new name and about a new or changed template;
// template returns that of a workload.
func workloadWarnings[P workload](template func(P) *corev1.PodTemplateSpec) func(w, old P) []string {
	return func(w, old P) (warnings []string) {
		var none P
		if old == none {
			if messages := validation.IsDNS1123Label(w.GetName()); len(messages) > 0 {
				warnings = append(warnings, fmt.Sprintf(
					"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", messages))
			}
		}
		if old == none || w.GetGeneration() != old.GetGeneration() {
			warnings = append(warnings, podspec.TemplateWarnings(template(w), field.NewPath("spec", "template"))...)
		}
		return warnings
	}
}

// desired returns the desired number of pods.
func desired(replicas *int32) int64 {
	if replicas == nil {
		return 0
	}
	return int64(*replicas)
}
