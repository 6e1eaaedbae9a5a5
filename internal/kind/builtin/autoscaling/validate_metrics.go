package autoscaling

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

func validateMetrics(spec *autoscalingv2.HorizontalPodAutoscalerSpec, described versionRule,
	path *field.Path) (errs field.ErrorList) {
	// Metrics of pods do not exist while there are no pods.
	outside := false
	for i := range spec.Metrics {
		m := &spec.Metrics[i]
		outside = outside || m.Type == autoscalingv2.ObjectMetricSourceType ||
			m.Type == autoscalingv2.ExternalMetricSourceType
		if len(errs) < maxErrors {
			errs = append(errs, validateMetric(m, described, path.Index(i))...)
		}
	}
	if n := spec.MinReplicas; n != nil && *n == 0 && !outside {
		errs = append(errs, field.Forbidden(path,
			"must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	return errs
}

// metricTypes lists the types of metrics in the order of error messages; sourceFields maps them to the fields of their
// sources.
var (
	metricTypes = []autoscalingv2.MetricSourceType{
		autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType,
		autoscalingv2.ResourceMetricSourceType,
	}
	sourceFields = map[autoscalingv2.MetricSourceType]string{
		autoscalingv2.ContainerResourceMetricSourceType: "containerResource",
		autoscalingv2.ExternalMetricSourceType:          "external",
		autoscalingv2.ObjectMetricSourceType:            "object",
		autoscalingv2.PodsMetricSourceType:              "pods",
		autoscalingv2.ResourceMetricSourceType:          "resource",
	}
)

// validateMetric validates a metric. Kubernetes validates only the first source.
func validateMetric(m *autoscalingv2.MetricSpec, described versionRule, path *field.Path) field.ErrorList {
	typePath := path.Child("type")
	errs := fieldcheck.Required(typePath, string(m.Type), "must specify a metric source type")
	errs = append(errs, fieldcheck.OneOf(typePath, m.Type, metricTypes...)...)
	present := presentSources(m)
	if len(present) > 0 {
		errs = append(errs, validateSource(m, present[0], described, path.Child(present[0]))...)
	}
	expected, known := sourceFields[m.Type]
	if known && !slices.Contains(present, expected) {
		errs = append(errs, field.Required(path.Child(expected),
			"must populate information for the given metric source"))
	}
	if len(present) > 1 {
		for _, name := range present {
			if name != expected {
				errs = append(errs, field.Forbidden(path.Child(name), "must populate the given metric source only"))
			}
		}
	}
	return errs
}

// presentSources returns the names of the sources that a metric has.
func presentSources(m *autoscalingv2.MetricSpec) (names []string) {
	for _, s := range []struct {
		name string
		set  bool
	}{
		{"object", m.Object != nil}, {"external", m.External != nil}, {"pods", m.Pods != nil},
		{"resource", m.Resource != nil}, {"containerResource", m.ContainerResource != nil},
	} {
		if s.set {
			names = append(names, s.name)
		}
	}
	return names
}

// validateSource validates the source in the field with that name, which must be set.
func validateSource(m *autoscalingv2.MetricSpec, name string, described versionRule, path *field.Path) field.ErrorList {
	switch name {
	case "object":
		return validateObjectSource(m.Object, described, path)
	case "external":
		return validateExternalSource(m.External, path)
	case "pods":
		return validatePodsSource(m.Pods, path)
	case "resource":
		return validateResourceSource(m.Resource, path)
	}
	return validateContainerSource(m.ContainerResource, path)
}

func validateObjectSource(s *autoscalingv2.ObjectMetricSource, described versionRule,
	path *field.Path) field.ErrorList {
	errs := validateReference(&s.DescribedObject, described, path.Child("describedObject"))
	errs = append(errs, validateMetricName(&s.Metric, path)...)
	errs = append(errs, validateTarget(&s.Target, path.Child("target"))...)
	if s.Target.Value == nil && s.Target.AverageValue == nil {
		errs = append(errs, field.Required(path.Child("target", "averageValue"),
			"must set either a target value or averageValue"))
	}
	return errs
}

func validateExternalSource(s *autoscalingv2.ExternalMetricSource, path *field.Path) field.ErrorList {
	errs := validateMetricName(&s.Metric, path)
	errs = append(errs, validateTarget(&s.Target, path.Child("target"))...)
	switch value, average := s.Target.Value, s.Target.AverageValue; {
	case value == nil && average == nil:
		errs = append(errs, field.Required(path.Child("target", "averageValue"),
			"must set either a target value for metric or a per-pod target"))
	case value != nil && average != nil:
		errs = append(errs, field.Forbidden(path.Child("target", "value"),
			"may not set both a target value for metric and a per-pod target"))
	}
	return errs
}

func validatePodsSource(s *autoscalingv2.PodsMetricSource, path *field.Path) field.ErrorList {
	errs := validateMetricName(&s.Metric, path)
	errs = append(errs, validateTarget(&s.Target, path.Child("target"))...)
	if s.Target.AverageValue == nil {
		errs = append(errs, field.Required(path.Child("target", "averageValue"),
			"must specify a positive target averageValue"))
	}
	return errs
}

const noResourceName = "must specify a resource name"

func validateResourceSource(s *autoscalingv2.ResourceMetricSource, path *field.Path) field.ErrorList {
	errs := fieldcheck.Required(path.Child("name"), string(s.Name), noResourceName)
	return append(errs, validateResourceTarget(&s.Target, path.Child("target"))...)
}

func validateContainerSource(s *autoscalingv2.ContainerResourceMetricSource, path *field.Path) field.ErrorList {
	name, container := path.Child("name"), path.Child("container")
	errs := fieldcheck.Required(name, string(s.Name), noResourceName)
	if s.Name != "" {
		errs = append(errs, podspec.ValidateContainerResource(s.Name, name)...)
	}
	if s.Container == "" {
		errs = append(errs, field.Required(container, "must specify a container"))
	} else {
		errs = append(errs, fieldcheck.LabelName(container, s.Container)...)
	}
	return append(errs, validateResourceTarget(&s.Target, path.Child("target"))...)
}

func validateResourceTarget(t *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	errs := validateTarget(t, path)
	switch utilization, average := t.AverageUtilization, t.AverageValue; {
	case utilization == nil && average == nil:
		errs = append(errs, field.Required(path.Child("averageUtilization"),
			"must set either a target raw value or a target utilization"))
	case utilization != nil && average != nil:
		errs = append(errs, field.Forbidden(path.Child("averageValue"),
			"may not set both a target raw value and a target utilization"))
	}
	return errs
}

func validateTarget(t *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	const positive = "must be positive"
	typePath := path.Child("type")
	errs := fieldcheck.Required(typePath, string(t.Type), "must specify a metric target type")
	switch t.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	default:
		errs = append(errs, field.Invalid(typePath, t.Type, "must be either Utilization, Value, or AverageValue"))
	}
	if t.Value != nil && t.Value.Sign() <= 0 {
		errs = append(errs, field.Invalid(path.Child("value"), t.Value, positive))
	}
	if t.AverageValue != nil && t.AverageValue.Sign() <= 0 {
		errs = append(errs, field.Invalid(path.Child("averageValue"), t.AverageValue, positive))
	}
	if n := t.AverageUtilization; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(path.Child("averageUtilization"), *n, "must be greater than 0"))
	}
	return errs
}

func validateMetricName(id *autoscalingv2.MetricIdentifier, path *field.Path) field.ErrorList {
	return validateSegment(id.Name, "must specify a metric name", path.Child("metric", "name"))
}
