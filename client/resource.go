package client

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/wire"
)

// Resource reads and writes the objects of one resource of a server as values of type T. For and Of return one. It may
// be copied, and is safe for concurrent use. The caller owns returned objects; the methods do not modify their
// arguments. If the server rejects a request, the error is its Status, which the functions of
// k8s.io/apimachinery/pkg/api/errors classify. If a returned object does not fit T, the error wraps a
// *DecodeError. Pass an empty namespace for cluster-scoped resources, and to list, watch or delete in all
// namespaces.
type Resource[T Object] struct{ endpoint endpoint }

// For returns the resource of a Go type, which is a type of k8s.io/api or registered with Types. The first request
// looks the resource up in the server's discovery. It fails if the type is not registered or the server does not serve
// it; the next request looks it up again.
func For[T Object](c *Client) Resource[T] {
	return Resource[T]{endpoint{client: c, goType: reflect.TypeFor[T]()}}
}

// Of returns the given resource of a server, without discovery. T may also be *unstructured.Unstructured. For any other
// T, the kind of the objects is the name of the struct.
func Of[T Object](c *Client, resource schema.GroupVersionResource) Resource[T] {
	t := reflect.TypeFor[T]()
	return Resource[T]{endpoint{client: c, goType: t, given: served{resource, t.Elem().Name()}}}
}

// Uninitialized returns a copy of r whose List and Watch include objects with pending initializers, and whose
// Create does not wait for initializers.
func (r Resource[T]) Uninitialized() Resource[T] {
	r.endpoint.uninitialized = true
	return r
}

// Page is a list, or one page of it if Continue is not empty.
type Page[T Object] struct {
	metav1.ListMeta
	Items []T // owned by the caller
	// Incomplete is set if the server has more matching objects but cannot decode them. Do not conclude then that an
	// object that is not listed does not exist.
	Incomplete bool
}

// Get reads an object. The error is NotFound if it does not exist.
func (r Resource[T]) Get(ctx context.Context, namespace, name string) (T, error) {
	q, err := r.endpoint.object(ctx, http.MethodGet, namespace, name, "")
	if err != nil {
		return *new(T), err
	}
	obj, err := exchange[T](ctx, q)
	if r.endpoint.refused(ctx, err) {
		obj, err = exchange[T](ctx, inJSON(q))
	}
	return obj, r.endpoint.invalidate(err)
}

// List reads all objects that match options, or one page of them if options.Limit is set. All reads page by page.
func (r Resource[T]) List(ctx context.Context, namespace string, options metav1.ListOptions) (*Page[T], error) {
	list, incomplete, err := r.endpoint.list(ctx, namespace, &options)
	if err != nil {
		return nil, err
	}
	page := &Page[T]{ListMeta: list.Metadata, Items: make([]T, len(list.Items)), Incomplete: incomplete}
	for i, item := range list.Items {
		if page.Items[i], err = r.item(list, i, item); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// item decodes an item of a list.
func (r Resource[T]) item(list *wire.List, i int, data []byte) (T, error) {
	decodeItem := wire.DecodeAs[T]
	if list.Protobuf {
		decodeItem = wire.ReadMessage[T]
	}
	obj, err := decodeItem(data, list.ItemKind())
	if err != nil {
		err = fmt.Errorf("item %d of the list of %s: %w", i, r.endpoint.name(), err)
	}
	return obj, err
}

// Create creates an object and returns it as stored. The error is AlreadyExists if an object of its name exists.
func (r Resource[T]) Create(ctx context.Context, obj T, options metav1.CreateOptions) (T, error) {
	q, err := r.endpoint.collection(ctx, http.MethodPost, obj.GetNamespace())
	if err != nil {
		return *new(T), err
	}
	return r.send(ctx, r.endpoint.client.options(q, &options), obj)
}

// Update replaces an object and returns it as stored. The error is a Conflict if obj has a resourceVersion that is not
// the current one, and NotFound if the object does not exist.
func (r Resource[T]) Update(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error) {
	return r.UpdateSubresource(ctx, "", obj, options)
}

// UpdateStatus is like Update for the status subresource: the server ignores changes of other parts than the status.
func (r Resource[T]) UpdateStatus(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error) {
	return r.UpdateSubresource(ctx, "status", obj, options)
}

// UpdateSubresource is like Update for a subresource of the object's own type, such as status or finalize.
func (r Resource[T]) UpdateSubresource(ctx context.Context, subresource string, obj T,
	options metav1.UpdateOptions) (T, error) {
	q, err := r.endpoint.object(ctx, http.MethodPut, obj.GetNamespace(), obj.GetName(), subresource)
	if err != nil {
		return *new(T), err
	}
	return r.send(ctx, r.endpoint.client.options(q, &options), obj)
}

// Patch patches an object, or a subresource of it if subresource is not empty, and returns the object as stored. kind
// is the format of patch.
func (r Resource[T]) Patch(ctx context.Context, namespace, name, subresource string, kind types.PatchType, patch []byte,
	options metav1.PatchOptions) (T, error) {
	q, err := r.endpoint.object(ctx, http.MethodPatch, namespace, name, subresource)
	if err != nil {
		return *new(T), err
	}
	return r.exchange(ctx, r.endpoint.client.options(q.SetHeader("Content-Type", string(kind)), &options).Body(patch))
}

// PatchStatus is like Patch for the status subresource.
func (r Resource[T]) PatchStatus(ctx context.Context, namespace, name string, kind types.PatchType, patch []byte,
	options metav1.PatchOptions) (T, error) {
	return r.Patch(ctx, namespace, name, "status", kind, patch, options)
}

// Delete deletes an object. If it has finalizers or a grace period, the server only marks it for deletion, so the
// object may still exist when Delete returns nil. The error is NotFound if the object does not exist, and a Conflict if
// it does not meet options.Preconditions.
func (r Resource[T]) Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	q, err := r.endpoint.object(ctx, http.MethodDelete, namespace, name, "")
	if err != nil {
		return err
	}
	return r.endpoint.delete(ctx, q, options)
}

// DeleteCollection deletes all objects that match the selectors of which, each as Delete does.
func (r Resource[T]) DeleteCollection(ctx context.Context, namespace string, options metav1.DeleteOptions,
	which metav1.ListOptions) error {
	q, err := r.endpoint.collection(ctx, http.MethodDelete, namespace)
	if err != nil {
		return err
	}
	return r.endpoint.delete(ctx, r.endpoint.client.options(q, &which), options)
}

// Watch starts a watch of the objects that match options, for the changes after options.ResourceVersion. The watch ends
// with ctx, or when the server ends it; the caller must call Stop in any case. If the server no longer has these
// changes, the error of Watch or of Stream.Next is ResourceExpired or Gone, and the caller must list again.
func (r Resource[T]) Watch(ctx context.Context, namespace string, options metav1.ListOptions) (*Stream[T], error) {
	frames, err := r.endpoint.watch(ctx, namespace, options)
	if err != nil {
		return nil, err
	}
	return &Stream[T]{frames}, nil
}

// send sends an object and decodes the response.
func (r Resource[T]) send(ctx context.Context, q *rest.Request, obj T) (T, error) {
	found, err := r.endpoint.find(ctx)
	if err != nil {
		return *new(T), err
	}
	data, form, err := wire.EncodeBody(obj, found.resource.GroupVersion().WithKind(found.kind))
	if err != nil {
		return *new(T), err
	}
	return r.exchange(ctx, q.SetHeader("Content-Type", form).Body(data))
}

// exchange sends a write and decodes the response.
func (r Resource[T]) exchange(ctx context.Context, q *rest.Request) (T, error) {
	obj, err := exchange[T](ctx, q)
	r.endpoint.refused(ctx, err) // the write is not repeated
	return obj, r.endpoint.invalidate(err)
}

// exchange sends a request and decodes the object in the response.
func exchange[T Object](ctx context.Context, q *rest.Request) (T, error) {
	data, err := do(ctx, q)
	if err != nil {
		return *new(T), err
	}
	obj, err := wire.Read[T](data)
	if err == nil && obj.GetObjectKind().GroupVersionKind().Empty() {
		err = wire.NewNoObjectError(data, obj)
	}
	return obj, err
}
