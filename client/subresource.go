package client

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CreateSubresource does something to an object by creating a subresource of it, as the binding of a pod gives it a node. body says
// what: it has its own kind and apiVersion, and the object's namespace and name.
func (r Resource[T]) CreateSubresource(ctx context.Context, subresource string, body Object, options metav1.CreateOptions) error {
	q, err := r.of(ctx, http.MethodPost, body.GetNamespace(), body.GetName(), subresource)
	if err != nil {
		return err
	}
	data, err := encode(body)
	if err != nil {
		return err
	}
	_, err = do(ctx, r.client.options(q, &options).SetHeader("Content-Type", "application/json").Body(data))
	return r.checked(err)
}
