package apps

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/kind"
)

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scaled is the part of a workload that its scale is about.
type scaled struct {
	replicas *int32
	running  int32
	selector *metav1.LabelSelector
}

// scaleOf makes the scale subresource of a workload: how many pods it has and is to have, in the same words for all
// workloads. write sets the number that it is to have.
func scaleOf[P kind.Object](read func(P) scaled, write func(P, int32)) kind.Subresource {
	return kind.Subresource{
		Name:  "scale",
		Kind:  scaleKind,
		Verbs: []string{"get", "patch", "update"},
		New:   func() runtime.Object { return &autoscalingv1.Scale{} },

		Columns: kind.ScaleColumns,
		Row:     kind.ScaleRow,
		View: func(obj kind.Object) (runtime.Object, error) {
			return viewScale(obj, read(obj.(P)))
		},
		Apply: func(obj kind.Object, body runtime.Object) error {
			scale := body.(*autoscalingv1.Scale)
			if n := scale.Spec.Replicas; n < 0 {
				return apierrors.NewInvalid(schema.GroupKind{Group: scaleKind.Group, Kind: scaleKind.Kind}, obj.GetName(),
					nonNegative(field.NewPath("spec", "replicas"), n))
			}
			write(obj.(P), scale.Spec.Replicas)
			return nil
		},
	}
}

func viewScale(obj kind.Object, s scaled) (runtime.Object, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.selector)
	if err != nil {
		return nil, err
	}
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{Kind: scaleKind.Kind, APIVersion: scaleKind.GroupVersion().String()},
		ObjectMeta: metav1.ObjectMeta{
			Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
			ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(desired(s.replicas))},
		Status: autoscalingv1.ScaleStatus{Replicas: s.running, Selector: selector.String()},
	}, nil
}
