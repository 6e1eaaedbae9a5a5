package autoscaling

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// defaultUtilization is the target for CPU, in percent, of an autoscaler without metrics.
const defaultUtilization = 80

func defaultAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler) {
	dropAnnotations(h.Annotations)
	if h.Spec.MinReplicas == nil {
		h.Spec.MinReplicas = new(int32(1))
	}
	defaultMetrics(&h.Spec)
	if b := h.Spec.Behavior; b != nil {
		defaultRules(&b.ScaleUp, new(int32(0)),
			autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
			autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15})
		// The window for scaling down is an option of the controller, so the API has no default for it.
		defaultRules(&b.ScaleDown, nil,
			autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15})
	}
}

func defaultMetrics(spec *autoscalingv2.HorizontalPodAutoscalerSpec) {
	if len(spec.Metrics) == 0 {
		spec.Metrics = []autoscalingv2.MetricSpec{cpuMetric(defaultUtilization)}
	}
}

// cpuMetric returns the metric that spec.targetCPUUtilizationPercentage of autoscaling/v1 stands for.
func cpuMetric(utilization int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{
				Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &utilization,
			},
		},
	}
}

// defaultRules sets missing fields of the rules for one direction. An empty list of policies remains empty, which is
// invalid.
func defaultRules(rules **autoscalingv2.HPAScalingRules, window *int32, policies ...autoscalingv2.HPAScalingPolicy) {
	if *rules == nil {
		*rules = &autoscalingv2.HPAScalingRules{}
	}
	r := *rules
	if r.StabilizationWindowSeconds == nil {
		r.StabilizationWindowSeconds = window
	}
	if r.SelectPolicy == nil {
		r.SelectPolicy = new(autoscalingv2.MaxChangePolicySelect)
	}
	if r.Policies == nil {
		r.Policies = policies
	}
}
