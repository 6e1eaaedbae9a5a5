package client

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ResourceOf returns the group, version and resource of r, which may have to ask the server.
func ResourceOf[T Object](ctx context.Context, r Resource[T]) (schema.GroupVersionResource, error) {
	found, err := r.endpoint.find(ctx)
	return found.resource, err
}
