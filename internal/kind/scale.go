package kind

import (
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ScaleColumns are the columns of the scale of a built-in kind, and CustomScaleColumns those of a custom
// resource: in Kubernetes, their descriptions differ.
var (
	ScaleColumns = []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Description: metadataDocs["name"]},
		{Name: "Desired", Type: "integer", Description: autoscalingv1.ScaleSpec{}.SwaggerDoc()["replicas"]},
		{Name: "Available", Type: "integer", Description: autoscalingv1.ScaleStatus{}.SwaggerDoc()["replicas"]},
		AgeColumn,
	}
	CustomScaleColumns = []metav1.TableColumnDefinition{
		NameColumn,
		{Name: "Desired", Type: "integer", Description: "Number of desired replicas"},
		{Name: "Available", Type: "integer", Description: "Number of actual replicas"},
		{Name: "Age", Type: "date", Description: metadataDocs["creationTimestamp"]},
	}
)

// ScaleRow returns the cells of a Scale; its age is relative to now.
func ScaleRow(view runtime.Object, now time.Time) []any {
	s := view.(*autoscalingv1.Scale)
	return []any{s.Name, int64(s.Spec.Replicas), int64(s.Status.Replicas), Age(s.CreationTimestamp.Time, now)}
}
