package client

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/wire"
)

// CreateSubresource posts body to a subresource of an object, such as a Binding to the subresource binding of a pod.
// body must have its own kind and apiVersion, and the namespace and name of the object. The response is discarded.
func (r Resource[T]) CreateSubresource(ctx context.Context, subresource string, body Object,
	options metav1.CreateOptions) error {
	q, err := r.endpoint.object(ctx, http.MethodPost, body.GetNamespace(), body.GetName(), subresource)
	if err != nil {
		return err
	}
	data, err := wire.Encode(body)
	if err != nil {
		return err
	}
	_, err = do(ctx, r.endpoint.client.options(q, &options).SetHeader("Content-Type", "application/json").Body(data))
	return r.endpoint.invalidate(err)
}
