package apps

import (
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func deploymentKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "Deployment", Plural: "deployments", Singular: "deployment",
		ShortNames: []string{"deploy"},
		Categories: []string{"all"},
		Namespaced: true,
		Generation: true,
		Endpoints: append([]kind.Endpoint{{Group: "apps", Version: "v1"}},
			oldEndpoints(oldDeployments(), "Deployment", beta2, beta1, extensions)...),
		Subresources: []kind.Subresource{
			kind.ScaleOf(
				func(d *appsv1.Deployment) kind.Scaled {
					return kind.Scaled{Replicas: d.Spec.Replicas, Running: d.Status.Replicas, Selector: d.Spec.Selector}
				},
				func(d *appsv1.Deployment, n int32) { d.Spec.Replicas = &n },
			),
			{Name: "status", Verbs: []string{"get", "patch", "update"}, Preserves: []string{"metadata.labels"}},
			deploymentRollback,
		},
	}, kind.Rules[*appsv1.Deployment]{
		Versions: oldDeployments(),
		Default:  defaultDeployment,
		Prepare:  prepareDeployment,
		Validate: fieldcheck.WithFinalizers(validateDeployment),
		Warnings: workloadWarnings(func(d *appsv1.Deployment) *corev1.PodTemplateSpec { return &d.Spec.Template }),
		Columns:  deploymentColumns,
		Row:      deploymentRow,
	})
}

// defaultDeployment sets a rolling update in which 25 % of the pods may be missing or surplus.
func defaultDeployment(d *appsv1.Deployment) {
	spec := &d.Spec
	if spec.Replicas == nil {
		spec.Replicas = new(int32(1))
	}
	if spec.Strategy.Type == "" {
		spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		if spec.Strategy.RollingUpdate == nil {
			spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
		}
		quarter := intstr.FromString("25%")
		if spec.Strategy.RollingUpdate.MaxUnavailable == nil {
			spec.Strategy.RollingUpdate.MaxUnavailable = new(quarter)
		}
		if spec.Strategy.RollingUpdate.MaxSurge == nil {
			spec.Strategy.RollingUpdate.MaxSurge = new(quarter)
		}
	}
	if spec.RevisionHistoryLimit == nil {
		spec.RevisionHistoryLimit = new(int32(10))
	}
	if spec.ProgressDeadlineSeconds == nil {
		spec.ProgressDeadlineSeconds = new(int32(600))
	}
	podspec.DefaultTemplate(&spec.Template)
}

// prepareDeployment increases the generation for changes of annotations, because the controller copies them
// to the replicasets. A write of the status does not change the labels.
func prepareDeployment(d, old *appsv1.Deployment, sub string) {
	switch {
	case old == nil:
	case sub == "status":
		d.Labels = old.Labels
	case d.Generation == old.Generation && !maps.Equal(d.Annotations, old.Annotations):
		d.Generation++
	}
}

func validateDeployment(d, old *appsv1.Deployment, sub string) field.ErrorList {
	if sub == "status" {
		return validateDeploymentStatus(d, old)
	}
	spec, path := &d.Spec, field.NewPath("spec")
	errs := nonNegative(path.Child("replicas"), *spec.Replicas)
	if old == nil {
		errs = append(errs, validateSelector(spec.Selector, nil, path.Child("selector"))...)
		errs = append(errs, validateTemplate(&spec.Template, nil, spec.Selector, path.Child("template"))...)
	} else {
		errs = append(errs, validateSelector(spec.Selector, old.Spec.Selector, path.Child("selector"))...)
		errs = append(errs, validateTemplate(&spec.Template, &old.Spec.Template, spec.Selector,
			path.Child("template"))...)
	}
	errs = append(errs, validateStrategy(&spec.Strategy, path.Child("strategy"))...)
	errs = append(errs, nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds)...)
	if n := spec.RevisionHistoryLimit; n != nil {
		errs = append(errs, nonNegative(path.Child("revisionHistoryLimit"), *n)...)
	}
	if n := spec.ProgressDeadlineSeconds; n != nil {
		at := path.Child("progressDeadlineSeconds")
		errs = append(errs, nonNegative(at, *n)...)
		if *n <= spec.MinReadySeconds {
			errs = append(errs, field.Invalid(at, *n, "must be greater than minReadySeconds"))
		}
	}
	if old != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(spec.Selector, old.Spec.Selector,
			path.Child("selector"))...)
	}
	return errs
}

func validateStrategy(s *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	update := path.Child("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(update,
				"may not be specified when strategy `type` is '"+string(s.Type)+"'")}
		}
	case appsv1.RollingUpdateDeploymentStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(update, "this should be defaulted and never be nil")}
		}
		return validateRollingUpdate(s.RollingUpdate, update)
	default:
		// Kubernetes reports the whole strategy with its Go field names.
		shown := struct {
			Type          appsv1.DeploymentStrategyType
			RollingUpdate *appsv1.RollingUpdateDeployment
		}{s.Type, s.RollingUpdate}
		return field.ErrorList{field.NotSupported(path, shown,
			[]appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType,
				appsv1.RollingUpdateDeploymentStrategyType})}
	}
	return nil
}

func validateRollingUpdate(u *appsv1.RollingUpdateDeployment, path *field.Path) (errs field.ErrorList) {
	unavailable, surge := *u.MaxUnavailable, *u.MaxSurge
	errs = validateShare(unavailable, path.Child("maxUnavailable"))
	errs = append(errs, validateShare(surge, path.Child("maxSurge"))...)
	if shareValue(unavailable) == 0 && shareValue(surge) == 0 {
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), unavailable,
			"may not be 0 when `maxSurge` is 0"))
	}
	return append(errs, atMostAll(unavailable, path.Child("maxUnavailable"))...)
}

func validateDeploymentStatus(d, old *appsv1.Deployment) (errs field.ErrorList) {
	s, path := &d.Status, field.NewPath("status")
	errs = nonNegative(path.Child("observedGeneration"), s.ObservedGeneration)
	errs = append(errs, nonNegative(path.Child("replicas"), s.Replicas)...)
	errs = append(errs, nonNegative(path.Child("updatedReplicas"), s.UpdatedReplicas)...)
	errs = append(errs, nonNegative(path.Child("readyReplicas"), s.ReadyReplicas)...)
	errs = append(errs, nonNegative(path.Child("availableReplicas"), s.AvailableReplicas)...)
	errs = append(errs, nonNegative(path.Child("unavailableReplicas"), s.UnavailableReplicas)...)
	if s.TerminatingReplicas != nil {
		errs = append(errs, nonNegative(path.Child("terminatingReplicas"), *s.TerminatingReplicas)...)
	}
	if n := s.CollisionCount; n != nil {
		errs = append(errs, nonNegative(path.Child("collisionCount"), *n)...)
	}
	errs = append(errs, atMost(path.Child("updatedReplicas"), s.UpdatedReplicas, s.Replicas, "status.replicas")...)
	errs = append(errs, atMost(path.Child("readyReplicas"), s.ReadyReplicas, s.Replicas, "status.replicas")...)
	errs = append(errs, atMost(path.Child("availableReplicas"), s.AvailableReplicas, s.Replicas, "status.replicas")...)
	errs = append(errs, atMost(path.Child("availableReplicas"), s.AvailableReplicas, s.ReadyReplicas,
		"readyReplicas")...)
	return append(errs, validateCollisionCount(path.Child("collisionCount"), s.CollisionCount,
		old.Status.CollisionCount)...)
}

var deploymentColumns = []metav1.TableColumnDefinition{
	kind.NameColumn,
	{Name: "Ready", Type: "string", Description: "Number of the pod with ready state"},
	{Name: "Up-to-date", Type: "string", Description: appsv1.DeploymentStatus{}.SwaggerDoc()["updatedReplicas"]},
	{Name: "Available", Type: "string", Description: appsv1.DeploymentStatus{}.SwaggerDoc()["availableReplicas"]},
	kind.AgeColumn,
	core.ContainersColumn(1),
	core.ImagesColumn(1),
	{Name: "Selector", Type: "string", Priority: 1, Description: appsv1.DeploymentSpec{}.SwaggerDoc()["selector"]},
}

func deploymentRow(d *appsv1.Deployment, now time.Time) []any {
	names, images := core.ContainerCells(&d.Spec.Template)
	return []any{
		d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, desired(d.Spec.Replicas)), int64(d.Status.UpdatedReplicas),
		int64(d.Status.AvailableReplicas), kind.Age(d.CreationTimestamp.Time, now), names, images,
		metav1.FormatLabelSelector(d.Spec.Selector),
	}
}
