package client

import (
	"context"
	"fmt"
	"net/http"
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
	client *Client
	known  served // zero when it has to be found
	// uninitialized says that lists show objects that initializers have still to act on, too.
	uninitialized bool
}

// For is the resource of a Go type: of a built-in one, or one that the client was told of by Types. The first call finds
// out which that is, and says so if nobody knows it or the server does not have it; a later one tries again.
func For[T Object](c *Client) Resource[T] { return Resource[T]{client: c} }

// Of is a resource of a server. The kind of a typed T is its struct's name.
func Of[T Object](c *Client, resource schema.GroupVersionResource) Resource[T] {
	return Resource[T]{client: c, known: served{resource, kindOf[T]()}}
}

// Uninitialized is the resource with its objects that initializers have still to act on: List and Watch leave them out
// otherwise. A Create does not wait for the initializers.
func (r Resource[T]) Uninitialized() Resource[T] {
	r.uninitialized = true
	return r
}

// Which is the resource that it is. For asks the server, if it has not yet.
func (r Resource[T]) Which(ctx context.Context) (schema.GroupVersionResource, error) {
	found, err := r.found(ctx)
	return found.resource, err
}

func (r Resource[T]) found(ctx context.Context) (served, error) {
	if r.known != (served{}) {
		return r.known, nil
	}
	return r.client.kinds.find(ctx, r.client, newOf[T]())
}

// at begins a request to the resource, or to an object of it, or to a subresource of that.
func (r Resource[T]) at(ctx context.Context, verb, namespace, name, subresource string) (*rest.Request, error) {
	found, err := r.found(ctx)
	if err != nil {
		return nil, err
	}
	q := r.client.ask(verb, found.resource, namespace, name, subresource)
	if r.uninitialized {
		q = q.Param(includeUninitialized, "true")
	}
	return asks[T](q), nil
}

// of is at for an object. It refuses an empty name, which would make the path that of the whole collection.
func (r Resource[T]) of(ctx context.Context, verb, namespace, name, subresource string) (*rest.Request, error) {
	q, err := r.at(ctx, verb, namespace, name, subresource)
	if err == nil && name == "" {
		err = fmt.Errorf("%s: the object has no name", r.name())
	}
	return q, err
}

// name is what errors call the resource.
func (r Resource[T]) name() string {
	if r.known.resource.Resource != "" {
		return r.known.resource.Resource
	}
	return reflect.TypeFor[T]().String()
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
	q, err := r.of(ctx, http.MethodGet, namespace, name, "")
	if err != nil {
		return *new(T), err
	}
	return r.answered(ctx, q)
}

// List reads all objects that match.
func (r Resource[T]) List(ctx context.Context, namespace string, options metav1.ListOptions) (*Page[T], error) {
	q, err := r.at(ctx, http.MethodGet, namespace, "", "")
	if err != nil {
		return nil, err
	}
	list, incomplete, err := r.list(ctx, r.client.options(q, &options))
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

// list reads a list, whose items are not read yet, and says whether it lacks some.
func (r Resource[T]) list(ctx context.Context, q *rest.Request) (*rawList, bool, error) {
	data, warnings, err := doWarned(ctx, q)
	if err != nil {
		return nil, false, r.checked(err)
	}
	list, err := readList(data)
	if err != nil {
		err = decodeError(data, list, err)
	} else if list.Kind == "" {
		err = noObject(data, list)
	}
	if err != nil {
		return nil, false, fmt.Errorf("list of %s: %w", r.name(), err)
	}
	incomplete := slices.ContainsFunc(warnings, func(w net.WarningHeader) bool { return strings.HasPrefix(w.Text, IncompleteList) })
	return list, incomplete, nil
}

// item reads an item of a list.
func (r Resource[T]) item(list *rawList, i int, data []byte) (T, error) {
	decodeItem := decode[T]
	if list.protobuf {
		decodeItem = readMessage[T]
	}
	obj, err := decodeItem(data, list.itemKind())
	if err != nil {
		err = fmt.Errorf("item %d of the list of %s: %w", i, r.name(), err)
	}
	return obj, err
}

// Create stores a new object and returns it as the server has it.
func (r Resource[T]) Create(ctx context.Context, obj T, options metav1.CreateOptions) (T, error) {
	q, err := r.at(ctx, http.MethodPost, obj.GetNamespace(), "", "")
	if err != nil {
		return *new(T), err
	}
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
	q, err := r.of(ctx, http.MethodPut, obj.GetNamespace(), obj.GetName(), subresource)
	if err != nil {
		return *new(T), err
	}
	return r.send(ctx, r.client.options(q, &options), obj)
}

// Patch changes an object; subresource may be empty.
func (r Resource[T]) Patch(ctx context.Context, namespace, name, subresource string, kind types.PatchType, patch []byte, options metav1.PatchOptions) (T, error) {
	q, err := r.of(ctx, http.MethodPatch, namespace, name, subresource)
	if err != nil {
		return *new(T), err
	}
	return r.answered(ctx, r.client.options(q.SetHeader("Content-Type", string(kind)), &options).Body(patch))
}

// PatchStatus changes an object's status.
func (r Resource[T]) PatchStatus(ctx context.Context, namespace, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions) (T, error) {
	return r.Patch(ctx, namespace, name, "status", kind, patch, options)
}

// Delete deletes one object, or marks it for deletion when finalizers or a grace period hold it.
func (r Resource[T]) Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	q, err := r.of(ctx, http.MethodDelete, namespace, name, "")
	if err != nil {
		return err
	}
	return r.delete(ctx, q, options)
}

// DeleteCollection deletes all objects that match.
func (r Resource[T]) DeleteCollection(ctx context.Context, namespace string, options metav1.DeleteOptions, which metav1.ListOptions) error {
	q, err := r.at(ctx, http.MethodDelete, namespace, "", "")
	if err != nil {
		return err
	}
	return r.delete(ctx, r.client.options(q, &which), options)
}

func (r Resource[T]) delete(ctx context.Context, q *rest.Request, options metav1.DeleteOptions) error {
	options.Kind, options.APIVersion = "DeleteOptions", "v1"
	body, err := encode(&options)
	if err != nil {
		return err
	}
	_, err = do(ctx, q.SetHeader("Content-Type", "application/json").Body(body))
	return r.checked(err)
}

// Watch follows the changes that match, from options.ResourceVersion on. The caller must Stop it.
func (r Resource[T]) Watch(ctx context.Context, namespace string, options metav1.ListOptions) (*Stream[T], error) {
	found, err := r.found(ctx)
	if err != nil {
		return nil, err
	}
	q := r.client.ask(http.MethodGet, found.resource, namespace, "", "")
	if r.uninitialized {
		q = q.Param(includeUninitialized, "true")
	}
	frames, err := r.client.watch(ctx, q, options)
	if err != nil {
		return nil, r.checked(err)
	}
	return &Stream[T]{frames}, nil
}

// send writes an object and reads the answer.
func (r Resource[T]) send(ctx context.Context, q *rest.Request, obj T) (T, error) {
	found, err := r.found(ctx)
	if err != nil {
		return *new(T), err
	}
	data, form, err := body(obj, found.resource.GroupVersion().WithKind(found.kind))
	if err != nil {
		return *new(T), err
	}
	return r.answered(ctx, q.SetHeader("Content-Type", form).Body(data))
}

// answered sends a request that is answered with a T.
func (r Resource[T]) answered(ctx context.Context, q *rest.Request) (T, error) {
	obj, err := answered[T](ctx, q)
	return obj, r.checked(err)
}

// checked is an error as it is, after a look whether what For has found is true no more.
func (r Resource[T]) checked(err error) error {
	if err != nil && r.known == (served{}) {
		r.client.kinds.forget(reflect.TypeFor[T](), err)
	}
	return err
}

// answered sends a request that is answered with an object.
func answered[T Object](ctx context.Context, q *rest.Request) (T, error) {
	data, err := do(ctx, q)
	if err != nil {
		return *new(T), err
	}
	obj, err := read[T](data)
	if err == nil && obj.GetObjectKind().GroupVersionKind().Empty() {
		err = noObject(data, obj)
	}
	return obj, err
}

// kindOf is the kind that a Go type stands for.
func kindOf[T Object]() string { return reflect.TypeFor[T]().Elem().Name() }

// newOf is an empty object.
func newOf[T Object]() T { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) }
