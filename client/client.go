// Package client connects controllers and other Go programs to a Kubernetes API server, over the network or
// in the process of the server. It provides
//
//   - Load and Flags: find the server and the credentials in a kubeconfig, $KUBECONFIG, or a pod's service account;
//   - Client and Resource: get, list, create, update, patch, apply, delete, watch and scale, generic in the object's
//     type, on top of client-go's REST client;
//   - Observe: report the writes made with a context, by this client or by client-go;
//   - Source: the list and watch interface that informers use. A server implements it for its own process; NewSource
//     implements it over the network.
//
// The package caches no objects; package informer does. It uses only the Kubernetes API and works with any
// server of that API.
package client

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Object is the type of the objects that a Resource reads and writes: a pointer to a typed API struct, or
// *unstructured.Unstructured.
type Object interface {
	runtime.Object
	metav1.Object
}

// Client is a client of one API server. It is safe for concurrent use.
type Client struct {
	rest       *rest.RESTClient
	parameters runtime.ParameterCodec
	kinds      *kinds
	server     string
	onlyJSON   *sync.Map // schema.GroupVersionResource to true, if the server has no protobuf for it
}

// New returns a client for the server and the credentials in config, which it does not modify. It sends no request. The
// client encodes built-in types as protobuf and all others as JSON. It reports writes to the observers of their
// contexts (see Observe), and a failure to connect as a *ServerError if the cause is known.
func New(config *rest.Config, options ...Option) (*Client, error) {
	copied := rest.CopyConfig(config)
	if copied.UserAgent == "" {
		// sent as User-Agent; servers derive the default field manager from it
		copied.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	explain(copied)
	observe(copied)
	httpClient, err := rest.HTTPClientFor(copied)
	if err != nil {
		return nil, fmt.Errorf("creating an HTTP client for %s: %w", copied.Host, err)
	}
	c, err := newClient(copied, httpClient)
	if err != nil {
		return nil, err
	}
	c.server = serverOf(copied)
	return c.With(options...), nil
}

func newClient(config *rest.Config, httpClient *http.Client) (*Client, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandler = rest.NoWarnings{} // client-go's default prints warnings to stderr
	}
	c, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", config.Host, err)
	}
	return &Client{rest: c, parameters: runtime.NewParameterCodec(scheme), kinds: newKinds(nil),
		onlyJSON: &sync.Map{}}, nil
}

// REST returns the underlying client-go client, for paths that are not resources, such as discovery.
func (c *Client) REST() rest.Interface { return c.rest }

// Server returns a string that identifies the server: its URL, and for an in-process server a suffix that is unique in
// the process. Clients of the same server return the same string.
func (c *Client) Server() string { return c.server }

// options encodes ListOptions, CreateOptions and the like as query parameters.
func (c *Client) options(q *rest.Request, options runtime.Object) *rest.Request {
	return q.SpecificallyVersionedParams(options, c.parameters, schema.GroupVersion{Version: "v1"})
}

// request returns a request for a resource, an object, or a subresource. Namespace, name and subresource may be
// empty. If one of them, or the resource, is not a valid path segment ("..", "a/b"), sending the request fails.
func (c *Client) request(verb string, resource schema.GroupVersionResource, namespace, name,
	subresource string) *rest.Request {
	p := path(resource.GroupVersion())
	if namespace != "" {
		p = append(p, "namespaces", namespace)
	}
	p = append(p, resource.Resource)
	if name != "" {
		p = append(p, name)
	}
	if subresource != "" {
		p = append(p, subresource)
	}
	q := c.rest.Verb(verb).AbsPath(p...)
	switch { // the request records the error
	case isInvalidSegment(resource.Resource):
		q.Resource(resource.Resource)
	case isInvalidSegment(namespace):
		q.Namespace(namespace)
	case isInvalidSegment(name):
		q.Name(name)
	case isInvalidSegment(subresource):
		q.SubResource(subresource)
	}
	return q
}

// isInvalidSegment reports whether client-go rejects a name as a segment of a path.
func isInvalidSegment(segment string) bool { return len(rest.IsValidPathSegmentName(segment)) > 0 }

// path returns the path under which the resources of a group version are served.
func path(version schema.GroupVersion) []string {
	if version.Group == "" {
		return []string{"/api", version.Version}
	}
	return []string{"/apis", version.Group, version.Version}
}

// do sends a request and returns the body of the response. An error is the Status that the server sent, if it
// sent one.
func do(ctx context.Context, q *rest.Request) ([]byte, error) {
	body, _, err := doWarned(ctx, q)
	return body, err
}

// doWarned is like do and also returns the warnings of the response.
func doWarned(ctx context.Context, q *rest.Request) ([]byte, []net.WarningHeader, error) {
	// Without a logger of the caller, client-go would log each body that ends early, beside returning the error: for
	// example whenever a controller is stopped during a request.
	result := q.Do(logr.NewContext(ctx, logr.FromContextOrDiscard(ctx)))
	if err := result.Error(); err != nil {
		return nil, nil, err
	}
	body, err := result.Raw()
	return body, result.Warnings(), err
}
