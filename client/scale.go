package client

import (
	"context"
	"net/http"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/wire"
)

// Scale reads the scale subresource of an object: the desired and the actual number of replicas. The error is NotFound
// if the object does not exist or the resource has no scale subresource.
func (r Resource[T]) Scale(ctx context.Context, namespace, name string) (*autoscalingv1.Scale, error) {
	q, err := r.endpoint.object(ctx, http.MethodGet, namespace, name, "scale")
	if err != nil {
		return nil, err
	}
	scale, err := exchange[*autoscalingv1.Scale](ctx, q)
	return scale, r.endpoint.invalidate(err)
}

// UpdateScale sets the desired number of replicas of the object that scale names, and returns the new scale. The error
// is a Conflict if scale has a resourceVersion that is not the current one of the object.
func (r Resource[T]) UpdateScale(ctx context.Context, scale *autoscalingv1.Scale,
	options metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	q, err := r.endpoint.object(ctx, http.MethodPut, scale.Namespace, scale.Name, "scale")
	if err != nil {
		return nil, err
	}
	body, err := wire.EncodeAs(scale, autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	if err != nil {
		return nil, err
	}
	q = r.endpoint.client.options(q, &options).SetHeader("Content-Type", "application/json").Body(body)
	scale, err = exchange[*autoscalingv1.Scale](ctx, q)
	return scale, r.endpoint.invalidate(err)
}
