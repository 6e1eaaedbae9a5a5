package apps

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

func daemonSetKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "DaemonSet", Plural: "daemonsets", Singular: "daemonset",
		ShortNames: []string{"ds"},
		Categories: []string{"all"},
		Namespaced: true,
		Generation: true,
		Endpoints: append([]kind.Endpoint{{Group: "apps", Version: "v1"}},
			oldEndpoints(oldDaemonSets(), "DaemonSet", beta2, extensions)...),
		Subresources:    []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
		FieldAnnotation: templates,
	}, kind.Rules[*appsv1.DaemonSet]{
		Versions: oldDaemonSets(),
		Default:  defaultDaemonSet,
		Prepare:  countTemplates,
		Validate: fieldcheck.WithFinalizers(validateDaemonSet),
		Warnings: daemonSetWarnings,
		Columns:  daemonSetColumns,
		Row:      daemonSetRow,
	})
}

// defaultDaemonSet sets a rolling update that replaces the pod of one node at a time, deleting the old one
// first.
func defaultDaemonSet(d *appsv1.DaemonSet) {
	strategy := &d.Spec.UpdateStrategy
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	}
	if strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		if strategy.RollingUpdate == nil {
			strategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{}
		}
		if strategy.RollingUpdate.MaxUnavailable == nil {
			strategy.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(1))
		}
		if strategy.RollingUpdate.MaxSurge == nil {
			strategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(0))
		}
	}
	if d.Spec.RevisionHistoryLimit == nil {
		d.Spec.RevisionHistoryLimit = new(int32(10))
	}
	podspec.DefaultTemplate(&d.Spec.Template)
	showTemplates(d)
}

func validateDaemonSet(d, old *appsv1.DaemonSet, sub string) (errs field.ErrorList) {
	if sub == "status" {
		return validateDaemonSetStatus(d, old)
	}
	spec, path := &d.Spec, field.NewPath("spec")
	var oldTemplate *corev1.PodTemplateSpec
	if old != nil {
		oldTemplate = &old.Spec.Template
		errs = append(errs, apivalidation.ValidateImmutableField(spec.Selector, old.Spec.Selector,
			path.Child("selector"))...)
	}
	errs = append(errs, validateDaemonSelector(spec, old, path)...)
	template := path.Child("template")
	errs = append(errs, podspec.ValidateTemplate(&spec.Template, oldTemplate, template)...)
	errs = append(errs, podspec.ValidateLongRunning(&spec.Template, template, "DaemonSet")...)
	errs = append(errs, nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds)...)
	errs = append(errs, validateTemplates(d)...)
	errs = append(errs, validateDaemonStrategy(&spec.UpdateStrategy, path.Child("updateStrategy"))...)
	if n := spec.RevisionHistoryLimit; n != nil {
		errs = append(errs, nonNegative(path.Child("revisionHistoryLimit"), *n)...)
	}
	return errs
}

// validateDaemonSelector validates the selector. For a missing selector it reports only that it does not
// match the template.
func validateDaemonSelector(spec *appsv1.DaemonSetSpec, old *appsv1.DaemonSet, path *field.Path) field.ErrorList {
	var was *metav1.LabelSelector
	if old != nil {
		was = old.Spec.Selector
	}
	errs := validLabels(spec.Selector, was, path.Child("selector"))
	if selector, err := metav1.LabelSelectorAsSelector(spec.Selector); err == nil {
		errs = append(errs, validateSelects(selector, &spec.Template, path.Child("template"))...)
	}
	return append(errs, notEmpty(spec.Selector, path.Child("selector"), "daemonset")...)
}

func validateDaemonStrategy(s *appsv1.DaemonSetUpdateStrategy, path *field.Path) field.ErrorList {
	update := path.Child("rollingUpdate")
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(update, "")}
		}
		return validateDaemonRollingUpdate(*s.RollingUpdate.MaxUnavailable, *s.RollingUpdate.MaxSurge, update)
	default:
		// Kubernetes reports the whole strategy with its Go field names.
		shown := struct {
			Type          appsv1.DaemonSetUpdateStrategyType
			RollingUpdate *appsv1.RollingUpdateDaemonSet
		}{s.Type, s.RollingUpdate}
		return field.ErrorList{field.NotSupported(path, shown,
			[]appsv1.DaemonSetUpdateStrategyType{appsv1.RollingUpdateDaemonSetStrategyType,
				appsv1.OnDeleteDaemonSetStrategyType})}
	}
}

// validateDaemonRollingUpdate checks that exactly one of maxUnavailable and maxSurge is positive.
func validateDaemonRollingUpdate(unavailable, surge intstr.IntOrString, path *field.Path) (errs field.ErrorList) {
	errs = validateShare(unavailable, path.Child("maxUnavailable"))
	errs = append(errs, validateShare(surge, path.Child("maxSurge"))...)
	errs = append(errs, atMostAll(unavailable, path.Child("maxUnavailable"))...)
	errs = append(errs, atMostAll(surge, path.Child("maxSurge"))...)
	switch missing, more := shareValue(unavailable) != 0, shareValue(surge) != 0; {
	case missing && more:
		errs = append(errs, field.Invalid(path.Child("maxSurge"), surge,
			"may not be set when maxUnavailable is non-zero"))
	case !missing && !more:
		errs = append(errs, field.Required(path.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
	}
	return errs
}

func validateDaemonSetStatus(d, old *appsv1.DaemonSet) (errs field.ErrorList) {
	s, path := &d.Status, field.NewPath("status")
	errs = nonNegative(path.Child("currentNumberScheduled"), s.CurrentNumberScheduled)
	errs = append(errs, nonNegative(path.Child("numberMisscheduled"), s.NumberMisscheduled)...)
	errs = append(errs, nonNegative(path.Child("desiredNumberScheduled"), s.DesiredNumberScheduled)...)
	errs = append(errs, nonNegative(path.Child("numberReady"), s.NumberReady)...)
	errs = append(errs, nonNegative(path.Child("observedGeneration"), s.ObservedGeneration)...)
	errs = append(errs, nonNegative(path.Child("updatedNumberScheduled"), s.UpdatedNumberScheduled)...)
	errs = append(errs, nonNegative(path.Child("numberAvailable"), s.NumberAvailable)...)
	errs = append(errs, nonNegative(path.Child("numberUnavailable"), s.NumberUnavailable)...)
	if n := s.CollisionCount; n != nil {
		errs = append(errs, nonNegative(path.Child("collisionCount"), *n)...)
	}
	return append(errs, validateCollisionCount(path.Child("collisionCount"), s.CollisionCount,
		old.Status.CollisionCount)...)
}

func daemonSetWarnings(d, old *appsv1.DaemonSet) []string {
	if old != nil && d.Annotations[templates] == old.Annotations[templates] {
		return nil
	}
	return podspec.TemplateWarnings(&d.Spec.Template, field.NewPath("spec", "template"))
}

var daemonSetColumns = func() []metav1.TableColumnDefinition {
	doc := appsv1.DaemonSetStatus{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		{Name: "Desired", Type: "integer", Description: doc["desiredNumberScheduled"]},
		{Name: "Current", Type: "integer", Description: doc["currentNumberScheduled"]},
		{Name: "Ready", Type: "integer", Description: doc["numberReady"]},
		{Name: "Up-to-date", Type: "integer", Description: doc["updatedNumberScheduled"]},
		{Name: "Available", Type: "integer", Description: doc["numberAvailable"]},
		{Name: "Node Selector", Type: "string", Description: corev1.PodSpec{}.SwaggerDoc()["nodeSelector"]},
		kind.AgeColumn,
		core.ContainersColumn(1),
		core.ImagesColumn(1),
		{Name: "Selector", Type: "string", Priority: 1, Description: appsv1.DaemonSetSpec{}.SwaggerDoc()["selector"]},
	}
}()

func daemonSetRow(d *appsv1.DaemonSet, now time.Time) []any {
	names, images := core.ContainerCells(&d.Spec.Template)
	s := &d.Status
	return []any{
		d.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady),
		int64(s.UpdatedNumberScheduled),
		int64(s.NumberAvailable), labels.FormatLabels(d.Spec.Template.Spec.NodeSelector),
		kind.Age(d.CreationTimestamp.Time, now),
		names, images, metav1.FormatLabelSelector(d.Spec.Selector),
	}
}
