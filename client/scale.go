package client

import (
	"context"
	"net/http"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scale reads how many replicas an object has and should have. It is NotFound for a resource without that subresource, as
// for an object that is not there.
func (r Resource[T]) Scale(ctx context.Context, namespace, name string) (*autoscalingv1.Scale, error) {
	q, err := r.of(ctx, http.MethodGet, namespace, name, "scale")
	if err != nil {
		return nil, err
	}
	return answered[*autoscalingv1.Scale](ctx, q)
}

// UpdateScale sets how many replicas an object should have; a resourceVersion in scale must be the object's current one.
func (r Resource[T]) UpdateScale(ctx context.Context, scale *autoscalingv1.Scale, options metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	q, err := r.of(ctx, http.MethodPut, scale.Namespace, scale.Name, "scale")
	if err != nil {
		return nil, err
	}
	body, err := encodeAs(scale, autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	if err != nil {
		return nil, err
	}
	q = r.client.options(q, &options).SetHeader("Content-Type", "application/json").Body(body)
	return answered[*autoscalingv1.Scale](ctx, q)
}
