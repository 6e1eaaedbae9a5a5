package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/wire"
)

// endpoint is a resource of a server and the Go type of its objects. It sends the requests of a Resource, which encodes
// and decodes the objects.
type endpoint struct {
	client *Client
	goType reflect.Type // a pointer to a struct
	given  served       // the argument of Of; zero for For, which looks the resource up
	// uninitialized is set by Resource.Uninitialized.
	uninitialized bool
}

// find returns the resource. It may have to look it up in the server's discovery.
func (e endpoint) find(ctx context.Context) (served, error) {
	if e.given != (served{}) {
		return e.given, nil
	}
	return e.client.kinds.find(ctx, e.client, e.goType)
}

// collection returns a request for all objects of a namespace, or of all namespaces if that is empty.
func (e endpoint) collection(ctx context.Context, verb, namespace string) (*rest.Request, error) {
	return e.request(ctx, verb, namespace, "", "")
}

// object returns a request for an object, or for its subresource if that is not empty. It rejects an empty name,
// which would address the whole collection.
func (e endpoint) object(ctx context.Context, verb, namespace, name, subresource string) (*rest.Request, error) {
	q, err := e.request(ctx, verb, namespace, name, subresource)
	if err == nil && name == "" {
		err = fmt.Errorf("%s: the object has no name", e.name())
	}
	return q, err
}

// request returns a request for the resource, an object, or a subresource, with the Accept header for the Go type.
func (e endpoint) request(ctx context.Context, verb, namespace, name, subresource string) (*rest.Request, error) {
	found, err := e.find(ctx)
	if err != nil {
		return nil, err
	}
	q := e.client.request(verb, found.resource, namespace, name, subresource)
	if e.uninitialized {
		q = q.Param(includeUninitialized, "true")
	}
	e.accept(q, found)
	return q, nil
}

// name returns the name of the resource for errors.
func (e endpoint) name() string {
	if e.given.resource.Resource != "" {
		return e.given.resource.Resource
	}
	return e.goType.String()
}

// list reads a list, or one page of it, without decoding its items. It reports whether the list is incomplete.
func (e endpoint) list(ctx context.Context, namespace string, options *metav1.ListOptions) (*wire.List, bool, error) {
	q, err := e.collection(ctx, http.MethodGet, namespace)
	if err != nil {
		return nil, false, err
	}
	q = e.client.options(q, options)
	data, warnings, err := doWarned(ctx, q)
	if e.refused(ctx, err) {
		data, warnings, err = doWarned(ctx, inJSON(q))
	}
	if err != nil {
		return nil, false, e.invalidate(err)
	}
	list, err := wire.ReadList(data)
	if err != nil {
		err = wire.NewDecodeError(data, list, err)
	} else if list.Kind == "" {
		err = wire.NewNoObjectError(data, list)
	}
	if err != nil {
		return nil, false, fmt.Errorf("list of %s: %w", e.name(), err)
	}
	incomplete := slices.ContainsFunc(warnings, func(w net.WarningHeader) bool {
		return strings.HasPrefix(w.Text, wire.IncompleteList)
	})
	return list, incomplete, nil
}

// nextPage reads the next page of a list. If the continue token has expired and the server offers one for a newer
// revision, nextPage continues with that.
func (e endpoint) nextPage(ctx context.Context, namespace string, options *metav1.ListOptions) (*wire.List, bool,
	error) {
	for {
		list, incomplete, err := e.list(ctx, namespace, options)
		status := apierrors.APIStatus(nil)
		if options.Continue == "" || !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
			return list, incomplete, err
		}
		next := status.Status().Continue
		if next == "" || next == options.Continue {
			return nil, false, err
		}
		options.Continue = next
	}
}

// delete sends a request to delete an object or a collection.
func (e endpoint) delete(ctx context.Context, q *rest.Request, options metav1.DeleteOptions) error {
	options.Kind, options.APIVersion = "DeleteOptions", "v1"
	body, err := wire.Encode(&options)
	if err != nil {
		return err
	}
	q.SetHeader("Content-Type", "application/json").Body(body)
	if _, err = do(ctx, q); e.refused(ctx, err) {
		_, err = do(ctx, inJSON(q))
	}
	return e.invalidate(err)
}

// watch starts a watch, whose events are JSON.
func (e endpoint) watch(ctx context.Context, namespace string, options metav1.ListOptions) (*wire.Frames, error) {
	found, err := e.find(ctx)
	if err != nil {
		return nil, err
	}
	q := e.client.request(http.MethodGet, found.resource, namespace, "", "")
	if e.uninitialized {
		q = q.Param(includeUninitialized, "true")
	}
	frames, err := e.client.watch(ctx, q, options)
	if err != nil {
		return nil, e.invalidate(err)
	}
	return frames, nil
}

// invalidate removes the cached resource of the Go type if err shows that it is outdated. It returns err.
func (e endpoint) invalidate(err error) error {
	if err != nil && e.given == (served{}) {
		e.client.kinds.invalidate(e.goType, err)
	}
	return err
}
