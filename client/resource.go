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

// Resource reads and writes the objects of one resource of a server as values of type T. It is a value and
// safe for concurrent use. The caller owns returned objects. If the server responds with a Status, that is
// the error, and the functions of k8s.io/apimachinery/pkg/api/errors classify it. Pass an empty namespace for
// cluster-scoped resources, and to list, watch or delete in all namespaces.
type Resource[T Object] struct {
	client *Client
	known  served // zero until it is looked up
	// uninitialized includes objects with pending initializers in lists and watches.
	uninitialized bool
}

// For returns the resource of a Go type, which is built in or registered with Types. The first call of a
// method looks the resource up in the server's discovery. It fails if the type is not known or the server
// does not serve it; the next call tries again.
func For[T Object](c *Client) Resource[T] { return Resource[T]{client: c} }

// Of returns the given resource of a server. The kind of a typed T is the name of its struct.
func Of[T Object](c *Client, resource schema.GroupVersionResource) Resource[T] {
	return Resource[T]{client: c, known: served{resource, kindOf[T]()}}
}

// Uninitialized returns a copy of r whose List and Watch include objects with pending initializers, and whose
// Create does not wait for initializers.
func (r Resource[T]) Uninitialized() Resource[T] {
	r.uninitialized = true
	return r
}

// Which returns the group, version and resource. A Resource made by For may have to ask the server.
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

// at returns a request for the resource, an object, or a subresource.
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

// of is like at for a single object. It rejects an empty name, which would address the whole collection.
func (r Resource[T]) of(ctx context.Context, verb, namespace, name, subresource string) (*rest.Request, error) {
	q, err := r.at(ctx, verb, namespace, name, subresource)
	if err == nil && name == "" {
		err = fmt.Errorf("%s: the object has no name", r.name())
	}
	return q, err
}

// name returns the name of the resource for errors.
func (r Resource[T]) name() string {
	if r.known.resource.Resource != "" {
		return r.known.resource.Resource
	}
	return reflect.TypeFor[T]().String()
}

// Page is a list, or one page of it if Continue is not empty.
type Page[T Object] struct {
	metav1.ListMeta
	Items []T // owned by the caller
	// Incomplete reports that the server has more objects that match but cannot decode them: do not conclude
	// that an object which is not listed does not exist.
	Incomplete bool
}

// IncompleteList is the prefix of the warning that a server sends if it leaves objects out of a list because
// it cannot decode them.
const IncompleteList = "incomplete list: "

// Get reads an object.
func (r Resource[T]) Get(ctx context.Context, namespace, name string) (T, error) {
	q, err := r.of(ctx, http.MethodGet, namespace, name, "")
	if err != nil {
		return *new(T), err
	}
	return r.answered(ctx, q)
}

// List reads all objects that match, or one page of them if options.Limit is set.
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

// list reads a list without decoding its items, and reports whether it is incomplete.
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
	incomplete := slices.ContainsFunc(warnings, func(w net.WarningHeader) bool {
		return strings.HasPrefix(w.Text, IncompleteList)
	})
	return list, incomplete, nil
}

// item decodes an item of a list.
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

// Create creates an object and returns it as stored.
func (r Resource[T]) Create(ctx context.Context, obj T, options metav1.CreateOptions) (T, error) {
	q, err := r.at(ctx, http.MethodPost, obj.GetNamespace(), "", "")
	if err != nil {
		return *new(T), err
	}
	return r.send(ctx, r.client.options(q, &options), obj)
}

// Update replaces an object. If obj has a resourceVersion that is not current, the error is a conflict.
func (r Resource[T]) Update(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error) {
	return r.UpdateSubresource(ctx, "", obj, options)
}

// UpdateStatus replaces the status of an object.
func (r Resource[T]) UpdateStatus(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error) {
	return r.UpdateSubresource(ctx, "status", obj, options)
}

// UpdateSubresource replaces the part of an object that a subresource such as status or finalize may change.
func (r Resource[T]) UpdateSubresource(ctx context.Context, subresource string, obj T,
	options metav1.UpdateOptions) (T, error) {
	q, err := r.of(ctx, http.MethodPut, obj.GetNamespace(), obj.GetName(), subresource)
	if err != nil {
		return *new(T), err
	}
	return r.send(ctx, r.client.options(q, &options), obj)
}

// Patch patches an object, or its subresource if that is not empty.
func (r Resource[T]) Patch(ctx context.Context, namespace, name, subresource string, kind types.PatchType, patch []byte,
	options metav1.PatchOptions) (T, error) {
	q, err := r.of(ctx, http.MethodPatch, namespace, name, subresource)
	if err != nil {
		return *new(T), err
	}
	return r.answered(ctx, r.client.options(q.SetHeader("Content-Type", string(kind)), &options).Body(patch))
}

// PatchStatus patches the status of an object.
func (r Resource[T]) PatchStatus(ctx context.Context, namespace, name string, kind types.PatchType, patch []byte,
	options metav1.PatchOptions) (T, error) {
	return r.Patch(ctx, namespace, name, "status", kind, patch, options)
}

// Delete deletes an object, or marks it for deletion if it has finalizers or a grace period.
func (r Resource[T]) Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	q, err := r.of(ctx, http.MethodDelete, namespace, name, "")
	if err != nil {
		return err
	}
	return r.delete(ctx, q, options)
}

// DeleteCollection deletes all objects that match.
func (r Resource[T]) DeleteCollection(ctx context.Context, namespace string, options metav1.DeleteOptions,
	which metav1.ListOptions) error {
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

// Watch streams the changes that match, beginning at options.ResourceVersion. The caller must call Stop.
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

// send sends an object and decodes the response.
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

// answered sends a request and decodes the response.
func (r Resource[T]) answered(ctx context.Context, q *rest.Request) (T, error) {
	obj, err := answered[T](ctx, q)
	return obj, r.checked(err)
}

// checked returns err, after removing a cached resource that err shows to be outdated.
func (r Resource[T]) checked(err error) error {
	if err != nil && r.known == (served{}) {
		r.client.kinds.forget(reflect.TypeFor[T](), err)
	}
	return err
}

// answered sends a request and decodes the object in the response.
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

// kindOf returns the kind that a Go type stands for.
func kindOf[T Object]() string { return reflect.TypeFor[T]().Elem().Name() }

// newOf returns an empty object.
func newOf[T Object]() T { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) }
