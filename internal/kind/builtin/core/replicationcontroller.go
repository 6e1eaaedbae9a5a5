package core

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func replicationControllerKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ReplicationController", Plural: "replicationcontrollers", Singular: "replicationcontroller",
		ShortNames: []string{"rc"},
		Categories: []string{"all"},
		Namespaced: true,
		Generation: true,
		// As this kind predates the garbage collector, a delete without a propagation policy orphans its
		// pods.
		Endpoints: []kind.Endpoint{{Version: "v1", Selectable: map[string]string{"status.replicas": ""},
			Orphans: true}},
		Subresources: []kind.Subresource{
			kind.ScaleOf(
				func(r *corev1.ReplicationController) kind.Scaled {
					return kind.Scaled{Replicas: r.Spec.Replicas, Running: r.Status.Replicas,
						Selector: &metav1.LabelSelector{MatchLabels: r.Spec.Selector}}
				},
				func(r *corev1.ReplicationController, n int32) { r.Spec.Replicas = &n },
			),
			{Name: "status", Verbs: []string{"get", "patch", "update"}},
		},
	}, kind.Rules[*corev1.ReplicationController]{
		Default:  defaultReplicationController,
		Validate: fieldcheck.WithFinalizers(validateReplicationController),
		Warnings: replicationControllerWarnings,
		Fields: func(r *corev1.ReplicationController) map[string]string {
			return map[string]string{"status.replicas": strconv.Itoa(int(r.Status.Replicas))}
		},
		Columns: replicationControllerColumns,
		Row:     replicationControllerRow,
	})
}

// defaultReplicationController copies the labels of the template to the labels and the selector, if they are
// not set.
func defaultReplicationController(r *corev1.ReplicationController) {
	if t := r.Spec.Template; t != nil {
		if len(r.Spec.Selector) == 0 && t.Labels != nil {
			r.Spec.Selector = maps.Clone(t.Labels)
		}
		if len(r.Labels) == 0 && t.Labels != nil {
			r.Labels = maps.Clone(t.Labels)
		}
		podspec.DefaultTemplate(t)
	}
	if r.Spec.Replicas == nil {
		r.Spec.Replicas = new(int32(1))
	}
}

func validateReplicationController(r, old *corev1.ReplicationController, sub string) field.ErrorList {
	if sub == "status" {
		return validateReplicationStatus(&r.Status, field.NewPath("status"))
	}
	path := field.NewPath("spec")
	errs := fieldcheck.NonNegative(path.Child("minReadySeconds"), int64(r.Spec.MinReadySeconds))
	if len(r.Spec.Selector) == 0 {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	}
	errs = append(errs, fieldcheck.NonNegative(path.Child("replicas"), int64(*r.Spec.Replicas))...)
	var was *corev1.PodTemplateSpec
	if old != nil {
		was = old.Spec.Template
	}
	return append(errs, validateReplicated(r.Spec.Template, was, r.Spec.Selector, path.Child("template"))...)
}

func validateReplicated(template, old *corev1.PodTemplateSpec, selector map[string]string,
	path *field.Path) (errs field.ErrorList) {
	if template == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	if !labels.SelectorFromSet(selector).Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(path.Child("metadata", "labels"), template.Labels,
			"`selector` does not match template `labels`"))
	}
	errs = append(errs, podspec.ValidateTemplate(template, old, path)...)
	return append(errs, podspec.ValidateLongRunning(template, path, "ReplicationController")...)
}

// validateReplicationStatus checks that counts are not negative and do not exceed the total.
func validateReplicationStatus(s *corev1.ReplicationControllerStatus, path *field.Path) (errs field.ErrorList) {
	counts := []struct {
		name string
		n    int32
	}{
		{"replicas", s.Replicas}, {"fullyLabeledReplicas", s.FullyLabeledReplicas}, {"readyReplicas", s.ReadyReplicas},
		{"availableReplicas", s.AvailableReplicas},
	}
	for _, c := range counts {
		errs = append(errs, fieldcheck.NonNegative(path.Child(c.name), int64(c.n))...)
	}
	errs = append(errs, fieldcheck.NonNegative(path.Child("observedGeneration"), s.ObservedGeneration)...)
	for _, c := range counts[1:] {
		if c.n > s.Replicas {
			errs = append(errs, field.Invalid(path.Child(c.name), c.n, "cannot be greater than status.replicas"))
		}
	}
	if s.AvailableReplicas > s.ReadyReplicas {
		errs = append(errs, field.Invalid(path.Child("availableReplicas"), s.AvailableReplicas,
			"cannot be greater than readyReplicas"))
	}
	return errs
}

// replicationControllerWarnings warns about the new template. On update, Kubernetes by mistake warns about
// the old one.
func replicationControllerWarnings(r, old *corev1.ReplicationController) (warnings []string) {
	if old == nil {
		if messages := validation.IsDNS1123Label(r.Name); len(messages) > 0 {
			warnings = append(warnings, fmt.Sprintf(
				"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", messages))
		}
	}
	if r.Spec.Template != nil && (old == nil || r.Generation != old.Generation) {
		warnings = append(warnings, podspec.TemplateWarnings(r.Spec.Template, field.NewPath("spec", "template"))...)
	}
	return warnings
}

var replicationControllerColumns = func() []metav1.TableColumnDefinition {
	spec, status := corev1.ReplicationControllerSpec{}.SwaggerDoc(), corev1.ReplicationControllerStatus{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		{Name: "Desired", Type: "integer", Description: spec["replicas"]},
		{Name: "Current", Type: "integer", Description: status["replicas"]},
		{Name: "Ready", Type: "integer", Description: status["readyReplicas"]},
		kind.AgeColumn,
		ContainersColumn(1),
		ImagesColumn(1),
		textColumn("Selector", spec["selector"], 1),
	}
}()

func replicationControllerRow(r *corev1.ReplicationController, now time.Time) []any {
	names, images := ContainerCells(r.Spec.Template)
	return []any{
		r.Name, int64(ptr.Deref(r.Spec.Replicas, 0)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas),
		kind.Age(r.CreationTimestamp.Time, now),
		names, images, labels.FormatLabels(r.Spec.Selector),
	}
}
