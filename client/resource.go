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

// Resource reads and writes the objects of one resource of a server as values of type T. It is a value and
// safe for concurrent use. The caller owns returned objects; methods do not change the objects that they are
// given. If the server responds with a Status, that is the error, and the functions of
// k8s.io/apimachinery/pkg/api/errors classify it. If a returned object does not fit T, the error is a
// *DecodeError. Pass an empty namespace for cluster-scoped resources, and to list, watch or delete in all
// namespaces.
type Resource[T Object] struct{ endpoint endpoint }

// For returns the resource of a Go type, which is built in or registered with Types. The first call of a
// method looks the resource up in the server's discovery. It fails if the type is not known or the server
// does not serve it; the next call tries again.
func For[T Object](c *Client) Resource[T] {
	return Resource[T]{endpoint{client: c, goType: reflect.TypeFor[T]()}}
}

// Of returns the given resource of a server. The kind of a typed T is the name of its struct.
func Of[T Object](c *Client, resource schema.GroupVersionResource) Resource[T] {
	t := reflect.TypeFor[T]()
	return Resource[T]{endpoint{client: c, goType: t, known: served{resource, t.Elem().Name()}}}
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
	// Incomplete reports that the server has more objects that match but cannot decode them: do not conclude
	// that an object which is not listed does not exist.
	Incomplete bool
}

// Get reads an object. The error is NotFound if it does not exist.
func (r Resource[T]) Get(ctx context.Context, namespace, name string) (T, error) {
	q, err := r.endpoint.object(ctx, http.MethodGet, namespace, name, "")
	if err != nil {
		return *new(T), err
	}
	return r.answered(ctx, q)
}

// List reads all objects that match, or one page of them if options.Limit is set.
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

// Create creates an object and returns it as stored. The error is AlreadyExists if there is one with its name.
func (r Resource[T]) Create(ctx context.Context, obj T, options metav1.CreateOptions) (T, error) {
	q, err := r.endpoint.collection(ctx, http.MethodPost, obj.GetNamespace())
	if err != nil {
		return *new(T), err
	}
	return r.send(ctx, r.endpoint.client.options(q, &options), obj)
}

// Update replaces an object and returns it as stored. If obj has a resourceVersion that is not current, the
// error is a conflict.
func (r Resource[T]) Update(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error) {
	return r.UpdateSubresource(ctx, "", obj, options)
}

// UpdateStatus is like Update for the status subresource, which does not change the spec.
func (r Resource[T]) UpdateStatus(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error) {
	return r.UpdateSubresource(ctx, "status", obj, options)
}

// UpdateSubresource replaces the part of an object that a subresource such as status or finalize may change.
func (r Resource[T]) UpdateSubresource(ctx context.Context, subresource string, obj T,
	options metav1.UpdateOptions) (T, error) {
	q, err := r.endpoint.object(ctx, http.MethodPut, obj.GetNamespace(), obj.GetName(), subresource)
	if err != nil {
		return *new(T), err
	}
	return r.send(ctx, r.endpoint.client.options(q, &options), obj)
}

// Patch patches an object, or its subresource if that is not empty, and returns the object as stored. patch is
// in the format of kind.
func (r Resource[T]) Patch(ctx context.Context, namespace, name, subresource string, kind types.PatchType, patch []byte,
	options metav1.PatchOptions) (T, error) {
	q, err := r.endpoint.object(ctx, http.MethodPatch, namespace, name, subresource)
	if err != nil {
		return *new(T), err
	}
	return r.answered(ctx, r.endpoint.client.options(q.SetHeader("Content-Type", string(kind)), &options).Body(patch))
}

// PatchStatus patches the status of an object.
func (r Resource[T]) PatchStatus(ctx context.Context, namespace, name string, kind types.PatchType, patch []byte,
	options metav1.PatchOptions) (T, error) {
	return r.Patch(ctx, namespace, name, "status", kind, patch, options)
}

// Delete deletes an object, or marks it for deletion if it has finalizers or a grace period. A nil error does
// not imply that the object is gone. The error is NotFound if it does not exist, and a conflict if
// options.Preconditions do not hold.
func (r Resource[T]) Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	q, err := r.endpoint.object(ctx, http.MethodDelete, namespace, name, "")
	if err != nil {
		return err
	}
	return r.endpoint.delete(ctx, q, options)
}

// DeleteCollection deletes all objects that match which, each as Delete does.
func (r Resource[T]) DeleteCollection(ctx context.Context, namespace string, options metav1.DeleteOptions,
	which metav1.ListOptions) error {
	q, err := r.endpoint.collection(ctx, http.MethodDelete, namespace)
	if err != nil {
		return err
	}
	return r.endpoint.delete(ctx, r.endpoint.client.options(q, &which), options)
}

// Watch streams the changes that match, beginning at options.ResourceVersion. The watch ends with ctx, or when
// the server ends it; the caller must call Stop in any case. The error is ResourceExpired or Gone if the server no
// longer has the changes since that version: list again.
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
	return r.answered(ctx, q.SetHeader("Content-Type", form).Body(data))
}

// answered sends a request and decodes the response.
func (r Resource[T]) answered(ctx context.Context, q *rest.Request) (T, error) {
	obj, err := answered[T](ctx, q)
	return obj, r.endpoint.checked(err)
}

// answered sends a request and decodes the object in the response.
func answered[T Object](ctx context.Context, q *rest.Request) (T, error) {
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
