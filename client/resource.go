package client

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Resource is one resource of a server, read and written as T. It is a value and may be used by many goroutines.
// Objects that it returns belong to the caller. Errors are metav1 Status errors where the server sent one, as
// k8s.io/apimachinery/pkg/api/errors tells them apart. The namespace is empty for cluster-scoped resources, and for
// all namespaces.
type Resource[T Object] struct {
	client   *Client
	resource schema.GroupVersionResource
}

// Of is a resource of a server. The kind of a typed T is its struct's name.
func Of[T Object](c *Client, resource schema.GroupVersionResource) Resource[T] {
	return Resource[T]{client: c, resource: resource}
}

// Page is a list, or a part of one when its Continue is not empty.
type Page[T Object] struct {
	metav1.ListMeta
	Items []T
	// Incomplete says that the server has more such objects, which it cannot read. Who takes what is not listed for gone has to
	// look at it.
	Incomplete bool
}

// IncompleteList begins the warning of a server whose list leaves out objects that it cannot read.
const IncompleteList = "incomplete list: "

// Get reads one object.
func (r Resource[T]) Get(ctx context.Context, namespace, name string) (T, error) {
	if err := named(r.resource, name); err != nil {
		return *new(T), err
	}
	return answered[T](ctx, r.client.rest.Get().AbsPath(path(r.resource, namespace, name, "")...))
}

// List reads all objects that match.
func (r Resource[T]) List(ctx context.Context, namespace string, options metav1.ListOptions) (*Page[T], error) {
	q := r.client.rest.Get().AbsPath(path(r.resource, namespace, "", "")...)
	body, warnings, err := doWarned(ctx, r.client.options(q, &options))
	if err != nil {
		return nil, err
	}
	list, err := decodeList(body)
	if err == nil && list.Kind == "" {
		err = noObject(body, list)
	}
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", r.resource.Resource, err)
	}
	page := &Page[T]{ListMeta: list.Metadata, Items: make([]T, len(list.Items))}
	for i, item := range list.Items {
		if page.Items[i], err = decode[T](item, list.itemKind()); err != nil {
			return nil, fmt.Errorf("item %d of the list of %s: %w", i, r.resource.Resource, err)
		}
	}
	page.Incomplete = slices.ContainsFunc(warnings, func(w net.WarningHeader) bool {
		return strings.HasPrefix(w.Text, IncompleteList)
	})
	return page, nil
}

// Create stores a new object and returns it as the server has it.
func (r Resource[T]) Create(ctx context.Context, obj T, options metav1.CreateOptions) (T, error) {
	q := r.client.rest.Post().AbsPath(path(r.resource, obj.GetNamespace(), "", "")...)
	return r.send(ctx, r.client.options(q, &options), obj)
}

// Update replaces an object; a resourceVersion in obj must be the current one.
func (r Resource[T]) Update(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error) {
	return r.UpdateSubresource(ctx, "", obj, options)
}

// UpdateStatus replaces an object's status.
func (r Resource[T]) UpdateStatus(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error) {
	return r.UpdateSubresource(ctx, "status", obj, options)
}

// UpdateSubresource replaces what a subresource that carries the whole object (status, finalize) may change.
func (r Resource[T]) UpdateSubresource(ctx context.Context, subresource string, obj T, options metav1.UpdateOptions) (T, error) {
	if err := named(r.resource, obj.GetName()); err != nil {
		return *new(T), err
	}
	q := r.client.rest.Put().AbsPath(path(r.resource, obj.GetNamespace(), obj.GetName(), subresource)...)
	return r.send(ctx, r.client.options(q, &options), obj)
}

// Patch changes an object; subresource may be empty.
func (r Resource[T]) Patch(ctx context.Context, namespace, name, subresource string, kind types.PatchType, patch []byte, options metav1.PatchOptions) (T, error) {
	if err := named(r.resource, name); err != nil {
		return *new(T), err
	}
	q := r.client.rest.Patch(kind).AbsPath(path(r.resource, namespace, name, subresource)...)
	return answered[T](ctx, r.client.options(q, &options).Body(patch))
}

// Delete deletes one object, or marks it for deletion when finalizers or a grace period hold it.
func (r Resource[T]) Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	if err := named(r.resource, name); err != nil {
		return err
	}
	return r.delete(ctx, r.client.rest.Delete().AbsPath(path(r.resource, namespace, name, "")...), options)
}

// DeleteCollection deletes all objects that match.
func (r Resource[T]) DeleteCollection(ctx context.Context, namespace string, options metav1.DeleteOptions, which metav1.ListOptions) error {
	q := r.client.rest.Delete().AbsPath(path(r.resource, namespace, "", "")...)
	return r.delete(ctx, r.client.options(q, &which), options)
}

func (r Resource[T]) delete(ctx context.Context, q *rest.Request, options metav1.DeleteOptions) error {
	options.Kind, options.APIVersion = "DeleteOptions", "v1"
	body, err := encode(&options)
	if err != nil {
		return err
	}
	_, err = do(ctx, q.SetHeader("Content-Type", "application/json").Body(body))
	return err
}

// Watch follows the changes that match, from options.ResourceVersion on. The caller must Stop it.
func (r Resource[T]) Watch(ctx context.Context, namespace string, options metav1.ListOptions) (*Stream[T], error) {
	frames, err := r.client.watch(ctx, r.resource, namespace, options)
	if err != nil {
		return nil, err
	}
	return &Stream[T]{frames}, nil
}

// send writes an object and reads the answer.
func (r Resource[T]) send(ctx context.Context, q *rest.Request, obj T) (T, error) {
	body, err := encodeAs(obj, r.resource.GroupVersion().WithKind(kindOf[T]()))
	if err != nil {
		return *new(T), err
	}
	return answered[T](ctx, q.SetHeader("Content-Type", "application/json").Body(body))
}

// answered sends a request that is answered with an object.
func answered[T Object](ctx context.Context, q *rest.Request) (T, error) {
	body, err := do(ctx, q)
	if err != nil {
		return *new(T), err
	}
	obj, err := Decode[T](body)
	if err == nil && obj.GetObjectKind().GroupVersionKind().Empty() {
		err = noObject(body, obj)
	}
	return obj, err
}

// named refuses an empty name, which would make the path that of the whole collection.
func named(resource schema.GroupVersionResource, name string) error {
	if name == "" {
		return fmt.Errorf("%s: the object has no name", resource.Resource)
	}
	return nil
}

// kindOf is the kind that a Go type stands for.
func kindOf[T Object]() string { return reflect.TypeFor[T]().Elem().Name() }
