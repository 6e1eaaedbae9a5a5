// Package autoscaling defines the kinds of the autoscaling group: horizontalpodautoscalers, which state how many pods
// a workload should have, depending on metrics. No controller of this project acts on them.
//
// Objects are stored in autoscaling/v2. autoscaling/v1 has a field for CPU utilization only; the files convert*.go
// represent everything else as annotations there, as Kubernetes does.
//
// Validation follows Kubernetes 1.37 (pkg/apis/autoscaling/validation, pkg/registry/autoscaling and the declarative
// rules of k8s.io/api/autoscaling) with the default feature gates: HPAScaleToZero, HPAConfigurableTolerance and
// HPAGeneration are on. The server validates metadata for all kinds. Package internal/kind/builtin registers the
// kinds; no other package uses this one.
package autoscaling

import (
	"strconv"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind { return []kind.Kind{autoscalerKind(cache)} }

func autoscalerKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "HorizontalPodAutoscaler", Plural: "horizontalpodautoscalers", Singular: "horizontalpodautoscaler",
		ShortNames: []string{"hpa"},
		Categories: []string{"all"},
		Namespaced: true,
		Generation: true,
		Endpoints: []kind.Endpoint{
			{Group: autoscalingv2.GroupName, Version: autoscalingv2.SchemeGroupVersion.Version},
			{Group: autoscalingv1.GroupName, Version: autoscalingv1.SchemeGroupVersion.Version},
		},
		Subresources: []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	}, kind.Rules[*autoscalingv2.HorizontalPodAutoscaler]{
		Versions: otherVersions,
		Default:  defaultAutoscaler,
		Validate: fieldcheck.WithFinalizers(validateAutoscaler),
		Columns:  autoscalerColumns,
		Row:      autoscalerRow,
	})
}

var autoscalerColumns = func() []metav1.TableColumnDefinition {
	spec := autoscalingv2.HorizontalPodAutoscalerSpec{}.SwaggerDoc()
	status := autoscalingv2.HorizontalPodAutoscalerStatus{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		{Name: "Reference", Type: "string", Description: spec["scaleTargetRef"]},
		{Name: "Targets", Type: "string", Description: spec["metrics"]},
		{Name: "MinPods", Type: "string", Description: spec["minReplicas"]},
		{Name: "MaxPods", Type: "string", Description: spec["maxReplicas"]},
		{Name: "Replicas", Type: "string", Description: status["currentReplicas"]},
		kind.AgeColumn,
	}
}()

func autoscalerRow(h *autoscalingv2.HorizontalPodAutoscaler, now time.Time) []any {
	minimum := "<unset>"
	if n := h.Spec.MinReplicas; n != nil {
		minimum = strconv.Itoa(int(*n))
	}
	return []any{
		h.Name, h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name,
		formatMetrics(h.Spec.Metrics, h.Status.CurrentMetrics), minimum,
		int64(h.Spec.MaxReplicas), int64(h.Status.CurrentReplicas), kind.Age(h.CreationTimestamp.Time, now),
	}
}
