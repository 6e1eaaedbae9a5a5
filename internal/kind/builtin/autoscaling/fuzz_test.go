package autoscaling

import (
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bowline-dev/bowline/internal/object"
)

// FuzzAnnotations decodes autoscalers of v1 whose annotations hold what v1 has no fields for. Whatever they say, the
// conversion to v1 and back changes nothing, and the rules and the table can read the result.
func FuzzAnnotations(f *testing.F) {
	f.Add(`[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]`, `{"scaleUp":{"policies":[]}}`, `[]`)
	f.Add(`[{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":50}}]`, `{}`, `[{"type":"a"}]`)
	f.Add(`[{"type":"Object"}]`, `null`, `[null]`)
	f.Add(`[{"type":"External","external":{"metricSelector":null,"targetValue":"1e999999999"}}]`, `{`, ``)
	k := autoscalerKind(object.NewCache(1))
	f.Fuzz(func(t *testing.T, metrics, behavior, conditions string) {
		sent := &autoscalingv1.HorizontalPodAutoscaler{}
		sent.Name, sent.Namespace, sent.Spec.MaxReplicas = "h", "default", 1
		sent.Annotations = map[string]string{
			metricsAnnotation: metrics, behaviorAnnotation: behavior, conditionsAnnotation: conditions,
		}
		hub, err := k.Accept(sent, "autoscaling/v1")
		if err != nil {
			return
		}
		k.Validate(t.Context(), hub, nil, "")
		if _, err := k.Row(hub, "autoscaling/v2", time.Now()); err != nil {
			t.Fatal(err)
		}
		before := hub.DeepCopyObject().(*autoscalingv2.HorizontalPodAutoscaler)
		old, err := k.Convert(hub, "autoscaling/v1")
		if err != nil {
			t.Fatal(err)
		}
		again, err := k.Accept(old.DeepCopyObject(), "autoscaling/v1")
		if err != nil {
			t.Fatal(err)
		}
		after := again.(*autoscalingv2.HorizontalPodAutoscaler)
		if !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
			t.Errorf("the conversion to v1 and back changed\n%+v\nto\n%+v", before.Spec, after.Spec)
		}
	})
}
