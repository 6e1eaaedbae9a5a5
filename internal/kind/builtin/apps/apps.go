// Package apps is the kinds of the apps group: replicasets, which keep a number of equal pods; deployments, which replace
// one replicaset by the next; statefulsets, whose pods have a name and volumes each; daemonsets, with a pod on each node;
// and controllerrevisions, in which the last two keep what they were. One file per kind has its data, defaults and
// columns, and its rules where they are short.
//
// What a rule refuses, and in which words, follows Kubernetes 1.36 (pkg/apis/apps/validation); the tests name the source
// of each. The pod templates are package core's. Package kind/builtin puts the kinds into a server's registry; nothing
// else calls this package.
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
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/object"
)

// Kinds are all kinds of the group, for one server, in discovery's order. The cache bounds their second encodings.
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

// atMost checks that a part is no more than its whole, which the message names.
func atMost(path *field.Path, part, whole int32, name string) field.ErrorList {
	if part > whole {
		return field.ErrorList{field.Invalid(path, part, "cannot be greater than "+name)}
	}
	return nil
}

// validateSelector checks the selector of a deployment or a replicaset, which must say something; old is nil on create.
// Kubernetes speaks of a deployment for both.
func validateSelector(selector, old *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	return append(validLabels(selector, old, path), notEmpty(selector, path, "deployment")...)
}

// validLabels checks what a selector asks of labels. A value that no label can have stays allowed where old has one.
func validLabels(selector, old *metav1.LabelSelector, path *field.Path) field.ErrorList {
	lenient := metavalidation.LabelSelectorHasInvalidLabelValue(old)
	return metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: lenient}, path)
}

// notEmpty checks that a selector, where there is one, does not find all pods.
func notEmpty(selector *metav1.LabelSelector, path *field.Path, workload string) field.ErrorList {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, selector, "empty selector is invalid for "+workload)}
}

// validateTemplate checks the pods that a deployment or a replicaset makes. Kubernetes speaks of a replicaset for both.
func validateTemplate(template, old *corev1.PodTemplateSpec, selector *metav1.LabelSelector, path *field.Path) (errs field.ErrorList) {
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return field.ErrorList{field.Invalid(path.Root().Child("selector"), selector, "invalid label selector")}
	}
	errs = append(errs, selects(matches, template, path)...)
	errs = append(errs, core.ValidatePodTemplate(template, old, path)...)
	return append(errs, core.ValidateLasting(template, path, "ReplicaSet")...)
}

// selects checks that a workload finds the pods that it makes.
func selects(selector labels.Selector, template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if selector.Matches(labels.Set(template.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("metadata", "labels"), template.Labels, "`selector` does not match template `labels`")}
}

// counted checks the number of hash collisions in a status, which is never taken back.
func counted(path *field.Path, now, was *int32) field.ErrorList {
	if was == nil || now != nil && *now >= *was {
		return nil
	}
	if now == nil {
		now = new(int32)
	}
	return field.ErrorList{field.Invalid(path, *now, "cannot be decremented")}
}

// workload is a pointer to the struct of one of the group's kinds.
type workload interface {
	comparable
	kind.Object
}

// workloadWarnings are those about a new name and a new or changed template; template finds that of a workload.
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
			warnings = append(warnings, core.PodTemplateWarnings(template(w), field.NewPath("spec", "template"))...)
		}
		return warnings
	}
}

// desired is the number of pods that is asked for.
func desired(replicas *int32) int64 {
	if replicas == nil {
		return 0
	}
	return int64(*replicas)
}
