package apps

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func replicaSetKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ReplicaSet", Plural: "replicasets", Singular: "replicaset",
		ShortNames: []string{"rs"},
		Categories: []string{"all"},
		Namespaced: true,
		Generation: true,
		Endpoints: append([]kind.Endpoint{{Group: "apps", Version: "v1",
			Selectable: map[string]string{"status.replicas": ""}}},
			oldEndpoints(oldReplicaSets(), "ReplicaSet", beta2, extensions)...),
		Subresources: []kind.Subresource{
			kind.ScaleOf(
				func(r *appsv1.ReplicaSet) kind.Scaled {
					return kind.Scaled{Replicas: r.Spec.Replicas, Running: r.Status.Replicas, Selector: r.Spec.Selector}
				},
				func(r *appsv1.ReplicaSet, n int32) { r.Spec.Replicas = &n },
			),
			{Name: "status", Verbs: []string{"get", "patch", "update"}},
		},
	}, kind.Rules[*appsv1.ReplicaSet]{
		Versions: oldReplicaSets(),
		Default:  defaultReplicaSet,
		Validate: fieldcheck.WithFinalizers(validateReplicaSet),
		Warnings: workloadWarnings(func(r *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &r.Spec.Template }),
		Fields: func(r *appsv1.ReplicaSet) map[string]string {
			return map[string]string{"status.replicas": strconv.Itoa(int(r.Status.Replicas))}
		},
		Columns: replicaSetColumns,
		Row:     replicaSetRow,
	})
}

func defaultReplicaSet(r *appsv1.ReplicaSet) {
	if r.Spec.Replicas == nil {
		r.Spec.Replicas = new(int32(1))
	}
	podspec.DefaultTemplate(&r.Spec.Template)
}

func validateReplicaSet(r, old *appsv1.ReplicaSet, sub string) field.ErrorList {
	if sub == "status" {
		return validateReplicaSetStatus(&r.Status, field.NewPath("status"))
	}
	path := field.NewPath("spec")
	errs := nonNegative(path.Child("replicas"), *r.Spec.Replicas)
	errs = append(errs, nonNegative(path.Child("minReadySeconds"), r.Spec.MinReadySeconds)...)
	if old == nil {
		errs = append(errs, validateSelector(r.Spec.Selector, nil, path.Child("selector"))...)
		return append(errs, validateTemplate(&r.Spec.Template, nil, r.Spec.Selector, path.Child("template"))...)
	}
	errs = append(errs, validateSelector(r.Spec.Selector, old.Spec.Selector, path.Child("selector"))...)
	errs = append(errs, validateTemplate(&r.Spec.Template, &old.Spec.Template, r.Spec.Selector,
		path.Child("template"))...)
	return append(errs, apivalidation.ValidateImmutableField(r.Spec.Selector, old.Spec.Selector,
		path.Child("selector"))...)
}

// validateReplicaSetStatus checks that counts are not negative and do not exceed the total.
func validateReplicaSetStatus(s *appsv1.ReplicaSetStatus, path *field.Path) (errs field.ErrorList) {
	errs = nonNegative(path.Child("replicas"), s.Replicas)
	errs = append(errs, nonNegative(path.Child("fullyLabeledReplicas"), s.FullyLabeledReplicas)...)
	errs = append(errs, nonNegative(path.Child("readyReplicas"), s.ReadyReplicas)...)
	errs = append(errs, nonNegative(path.Child("availableReplicas"), s.AvailableReplicas)...)
	errs = append(errs, nonNegative(path.Child("observedGeneration"), s.ObservedGeneration)...)
	if s.TerminatingReplicas != nil {
		errs = append(errs, nonNegative(path.Child("terminatingReplicas"), *s.TerminatingReplicas)...)
	}
	errs = append(errs, atMost(path.Child("fullyLabeledReplicas"), s.FullyLabeledReplicas, s.Replicas,
		"status.replicas")...)
	errs = append(errs, atMost(path.Child("readyReplicas"), s.ReadyReplicas, s.Replicas, "status.replicas")...)
	errs = append(errs, atMost(path.Child("availableReplicas"), s.AvailableReplicas, s.Replicas, "status.replicas")...)
	return append(errs, atMost(path.Child("availableReplicas"), s.AvailableReplicas, s.ReadyReplicas,
		"readyReplicas")...)
}

var replicaSetColumns = []metav1.TableColumnDefinition{
	kind.NameColumn,
	{Name: "Desired", Type: "integer", Description: appsv1.ReplicaSetSpec{}.SwaggerDoc()["replicas"]},
	{Name: "Current", Type: "integer", Description: appsv1.ReplicaSetStatus{}.SwaggerDoc()["replicas"]},
	{Name: "Ready", Type: "integer", Description: appsv1.ReplicaSetStatus{}.SwaggerDoc()["readyReplicas"]},
	kind.AgeColumn,
	core.ContainersColumn(1),
	core.ImagesColumn(1),
	{Name: "Selector", Type: "string", Priority: 1, Description: appsv1.ReplicaSetSpec{}.SwaggerDoc()["selector"]},
}

func replicaSetRow(r *appsv1.ReplicaSet, now time.Time) []any {
	names, images := core.ContainerCells(&r.Spec.Template)
	return []any{
		r.Name, desired(r.Spec.Replicas), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas),
		kind.Age(r.CreationTimestamp.Time, now), names, images, metav1.FormatLabelSelector(r.Spec.Selector),
	}
}
