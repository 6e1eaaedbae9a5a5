package kind

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// Scaled holds the fields of a workload that its scale shows.
type Scaled struct {
	Replicas *int32 // desired
	Running  int32
	Selector *metav1.LabelSelector // selects its pods
}

// ScaleOf returns the scale subresource of a workload. read returns the workload's fields, and write sets the
// desired number of replicas.
func ScaleOf[P Object](read func(P) Scaled, write func(P, int32)) Subresource {
	return Subresource{
		Name:  "scale",
		Kind:  scaleKind,
		Verbs: []string{"get", "patch", "update"},
		New:   func() runtime.Object { return &autoscalingv1.Scale{} },

		Columns: ScaleColumns,
		Row:     ScaleRow,
		View: func(obj Object) (runtime.Object, error) {
			return viewScale(obj, read(obj.(P)))
		},
		Apply: func(obj Object, body runtime.Object) error {
			scale := body.(*autoscalingv1.Scale)
			if n := scale.Spec.Replicas; n < 0 {
				return NewInvalid(schema.GroupKind{Group: scaleKind.Group, Kind: scaleKind.Kind},
					obj.GetName(),
					field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), n,
						apivalidation.IsNegativeErrorMsg)})
			}
			write(obj.(P), scale.Spec.Replicas)
			return nil
		},
	}
}

func viewScale(obj Object, s Scaled) (runtime.Object, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.Selector)
	if err != nil {
		return nil, err
	}
	var replicas int32
	if s.Replicas != nil {
		replicas = *s.Replicas
	}
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{Kind: scaleKind.Kind, APIVersion: scaleKind.GroupVersion().String()},
		ObjectMeta: metav1.ObjectMeta{
			Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
			ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: s.Running, Selector: selector.String()},
	}, nil
}
