package autoscaling

import (
	"fmt"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// unknown is the text for a value that the status does not have.
const unknown = "<unknown>"

// formatMetrics formats the current and desired values of the first two metrics, and the number of the others. The
// status lists the metrics in the order of the spec.
func formatMetrics(specs []autoscalingv2.MetricSpec, statuses []autoscalingv2.MetricStatus) string {
	const most = 2
	if len(specs) == 0 {
		return "<none>"
	}
	var cells []string
	for i := range specs[:min(len(specs), most)] {
		var status autoscalingv2.MetricStatus
		if i < len(statuses) {
			status = statuses[i]
		}
		cells = append(cells, formatMetric(&specs[i], &status))
	}
	text := strings.Join(cells, ", ")
	if len(specs) > most {
		return fmt.Sprintf("%s + %d more...", text, len(specs)-most)
	}
	return text
}

// formatMetric formats one metric. In an object that was not validated, the field for its type may be missing.
func formatMetric(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) string {
	var current *autoscalingv2.MetricValueStatus
	switch {
	case spec.Type == autoscalingv2.ExternalMetricSourceType && spec.External != nil:
		if status.External != nil {
			current = &status.External.Current
		}
		return formatQuantity(&spec.External.Target, current)
	case spec.Type == autoscalingv2.ObjectMetricSourceType && spec.Object != nil:
		if status.Object != nil {
			current = &status.Object.Current
		}
		return formatQuantity(&spec.Object.Target, current)
	case spec.Type == autoscalingv2.PodsMetricSourceType && spec.Pods != nil:
		if status.Pods != nil {
			current = &status.Pods.Current
		}
		return average(current) + "/" + spec.Pods.Target.AverageValue.String()
	case spec.Type == autoscalingv2.ResourceMetricSourceType && spec.Resource != nil:
		if status.Resource != nil {
			current = &status.Resource.Current
		}
		return formatResource(string(spec.Resource.Name), &spec.Resource.Target, current)
	case spec.Type == autoscalingv2.ContainerResourceMetricSourceType && spec.ContainerResource != nil:
		if status.ContainerResource != nil {
			current = &status.ContainerResource.Current
		}
		return formatResource(string(spec.ContainerResource.Name), &spec.ContainerResource.Target, current)
	}
	return "<unknown type>"
}

// formatQuantity formats a metric that has a value for all pods, or an average value.
func formatQuantity(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		text := unknown
		if current != nil && current.AverageValue != nil {
			text = current.AverageValue.String()
		}
		return text + "/" + target.AverageValue.String() + " (avg)"
	}
	text := unknown
	if current != nil {
		text = current.Value.String()
	}
	return text + "/" + target.Value.String()
}

// formatResource formats a metric of CPU or another resource.
func formatResource(name string, target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return name + ": " + average(current) + "/" + target.AverageValue.String()
	}
	is, wanted := unknown, "<auto>"
	if current != nil && current.AverageUtilization != nil {
		is = fmt.Sprintf("%d%%", *current.AverageUtilization)
	}
	if target.AverageUtilization != nil {
		wanted = fmt.Sprintf("%d%%", *target.AverageUtilization)
	}
	return name + ": " + is + "/" + wanted
}

// average formats an average value. A status without one shows "<nil>", as in Kubernetes.
func average(current *autoscalingv2.MetricValueStatus) string {
	if current == nil {
		return unknown
	}
	return current.AverageValue.String()
}
