package autoscaling

import (
	"bytes"
	"encoding/json"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// The annotations with which autoscaling/v1 represents fields of autoscaling/v2. Their JSON has the types of
// autoscaling/v1, except for the behavior, which has Go's field names.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
)

// dropAnnotations deletes the annotations that only a conversion may set. Kubernetes reserves the last two as well,
// but never sets them.
func dropAnnotations(annotations map[string]string) {
	for _, key := range []string{
		metricsAnnotation, behaviorAnnotation, currentMetricsAnnotation, conditionsAnnotation,
		"autoscaling.alpha.kubernetes.io/scale-down-tolerance", "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
	} {
		delete(annotations, key)
	}
}

// otherVersions holds autoscaling/v1.
var otherVersions = map[string]kind.Version[*autoscalingv2.HorizontalPodAutoscaler]{
	autoscalingv1.SchemeGroupVersion.String(): {
		New: func() runtime.Object { return &autoscalingv1.HorizontalPodAutoscaler{} },
		ToHub: func(obj runtime.Object) (*autoscalingv2.HorizontalPodAutoscaler, error) {
			return toHub(obj.(*autoscalingv1.HorizontalPodAutoscaler)), nil
		},
		FromHub: func(h *autoscalingv2.HorizontalPodAutoscaler) (runtime.Object, error) { return fromHub(h) },
	},
}

// toHub converts from autoscaling/v1. The result shares memory with in.
func toHub(in *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	out := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: in.ObjectMeta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration, LastScaleTime: in.Status.LastScaleTime,
			CurrentReplicas: in.Status.CurrentReplicas, DesiredReplicas: in.Status.DesiredReplicas,
		},
	}
	if n := in.Spec.TargetCPUUtilizationPercentage; n != nil {
		out.Spec.Metrics = []autoscalingv2.MetricSpec{cpuMetric(*n)}
	}
	if n := in.Status.CurrentCPUUtilizationPercentage; n != nil {
		out.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: n},
			},
		}}
	}
	readAnnotations(out)
	defaultMetrics(&out.Spec)
	return out
}

// readAnnotations sets the fields that annotations represent, and deletes the annotations.
func readAnnotations(h *autoscalingv2.HorizontalPodAutoscaler) {
	if metrics, ok := read[[]autoscalingv1.MetricSpec](h, metricsAnnotation); ok {
		all := make([]autoscalingv2.MetricSpec, 0, len(metrics)+1)
		for i := range metrics {
			all = append(all, metricToHub(&metrics[i]))
		}
		h.Spec.Metrics = append(all, h.Spec.Metrics...)
	}
	if b, ok := read[autoscalingv2.HorizontalPodAutoscalerBehavior](h, behaviorAnnotation); ok &&
		(b.ScaleUp != nil || b.ScaleDown != nil) {
		requirePolicies(b.ScaleUp)
		requirePolicies(b.ScaleDown)
		h.Spec.Behavior = &b
	}
	if statuses, ok := read[[]autoscalingv1.MetricStatus](h, currentMetricsAnnotation); ok {
		h.Status.CurrentMetrics = make([]autoscalingv2.MetricStatus, len(statuses))
		for i := range statuses {
			h.Status.CurrentMetrics[i] = statusToHub(&statuses[i])
		}
	}
	if conditions, ok := read[[]autoscalingv1.HorizontalPodAutoscalerCondition](h, conditionsAnnotation); ok {
		h.Status.Conditions = make([]autoscalingv2.HorizontalPodAutoscalerCondition, len(conditions))
		for i, c := range conditions {
			h.Status.Conditions[i] = autoscalingv2.HorizontalPodAutoscalerCondition{
				Type: autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status,
				LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
				ObservedGeneration: c.ObservedGeneration,
			}
		}
	}
	dropAnnotations(h.Annotations)
}

// requirePolicies excludes the policies from the defaults of autoscaling/v2. In autoscaling/v1 missing policies are
// invalid.
func requirePolicies(rules *autoscalingv2.HPAScalingRules) {
	if rules != nil && rules.Policies == nil {
		rules.Policies = []autoscalingv2.HPAScalingPolicy{}
	}
}

// maxParts is the number of objects and lists that an annotation may have. Kubernetes has no limit, and takes more than
// a second for a hundred thousand.
const maxParts = 10_000

// read decodes an annotation. It ignores annotations that cannot be decoded, as Kubernetes does, and those that have
// too many parts, or quantities that would take too long to decode.
func read[T any](h *autoscalingv2.HorizontalPodAutoscaler, key string) (value T, ok bool) {
	var none T
	text, ok := h.Annotations[key]
	if !ok || strings.Count(text, "{")+strings.Count(text, "[") > maxParts {
		return none, false
	}
	data := []byte(text)
	if masked := kind.MaskHugeQuantities(object.JSON, data); !bytes.Equal(masked, data) {
		// If a quantity is masked, decoding fails.
		if err := json.Unmarshal(masked, new(T)); err != nil {
			return none, false
		}
	}
	if err := json.Unmarshal(data, &value); err != nil {
		return none, false
	}
	return value, true
}

// fromHub converts to autoscaling/v1. The result shares no memory with hub.
func fromHub(hub *autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv1.HorizontalPodAutoscaler, error) {
	hub = hub.DeepCopy()
	out := &autoscalingv1.HorizontalPodAutoscaler{
		TypeMeta: metav1.TypeMeta{
			Kind: "HorizontalPodAutoscaler", APIVersion: autoscalingv1.SchemeGroupVersion.String(),
		},
		ObjectMeta: hub.ObjectMeta,
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(hub.Spec.ScaleTargetRef),
			MinReplicas:    hub.Spec.MinReplicas,
			MaxReplicas:    hub.Spec.MaxReplicas,
		},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{
			ObservedGeneration: hub.Status.ObservedGeneration, LastScaleTime: hub.Status.LastScaleTime,
			CurrentReplicas: hub.Status.CurrentReplicas, DesiredReplicas: hub.Status.DesiredReplicas,
		},
	}
	for i := range hub.Spec.Metrics {
		if m := &hub.Spec.Metrics[i]; isCPUTarget(m) {
			out.Spec.TargetCPUUtilizationPercentage = m.Resource.Target.AverageUtilization
			break
		}
	}
	for i := range hub.Status.CurrentMetrics {
		m := &hub.Status.CurrentMetrics[i]
		if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil &&
			m.Resource.Name == corev1.ResourceCPU && m.Resource.Current.AverageUtilization != nil {
			out.Status.CurrentCPUUtilizationPercentage = new(*m.Resource.Current.AverageUtilization)
		}
	}
	return out, writeAnnotations(hub, out)
}

// isCPUTarget reports whether spec.targetCPUUtilizationPercentage of autoscaling/v1 can represent a metric.
func isCPUTarget(m *autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil &&
		m.Resource.Name == corev1.ResourceCPU && m.Resource.Target.AverageUtilization != nil
}

// writeAnnotations sets the annotations for the fields that autoscaling/v1 lacks. The annotation of the current metrics
// includes CPU utilization, because the field for it lacks the absolute value.
func writeAnnotations(hub *autoscalingv2.HorizontalPodAutoscaler, out *autoscalingv1.HorizontalPodAutoscaler) error {
	dropAnnotations(out.Annotations)
	var metrics []autoscalingv1.MetricSpec
	for i := range hub.Spec.Metrics {
		if m := &hub.Spec.Metrics[i]; !isCPUTarget(m) {
			metrics = append(metrics, metricFromHub(m))
		}
	}
	var statuses []autoscalingv1.MetricStatus
	for i := range hub.Status.CurrentMetrics {
		statuses = append(statuses, statusFromHub(&hub.Status.CurrentMetrics[i]))
	}
	var conditions []autoscalingv1.HorizontalPodAutoscalerCondition
	for _, c := range hub.Status.Conditions {
		conditions = append(conditions, autoscalingv1.HorizontalPodAutoscalerCondition{
			Type: autoscalingv1.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
			ObservedGeneration: c.ObservedGeneration,
		})
	}
	for _, a := range []struct {
		key   string
		set   bool
		value any
	}{
		{metricsAnnotation, len(metrics) > 0, metrics},
		{currentMetricsAnnotation, len(statuses) > 0, statuses},
		{behaviorAnnotation, hub.Spec.Behavior != nil, podspec.Layout(hub.Spec.Behavior)},
		{conditionsAnnotation, len(conditions) > 0, conditions},
	} {
		if !a.set {
			continue
		}
		data, err := json.Marshal(a.value)
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, a.key, string(data))
	}
	return nil
}
