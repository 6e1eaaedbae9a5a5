// Package client is how controllers and other Go programs speak to a server: over the wire, or in the server's own
// process without a socket. It holds
//
//   - Load and Flags: which server, and as whom: a kubeconfig, $KUBECONFIG, or the service account of a pod;
//   - Client and Resource: get, list, create, update, patch, apply, delete, watch and scale, generic in the object's type,
//     on client-go's REST client;
//   - Observe: what the calls of a context have written, by this client or client-go's own;
//   - Transport: an http.RoundTripper over an http.Handler of the same process, for this client and for an unmodified
//     client-go;
//   - Source: where an informer lists and watches. A server supplies one for its own process; NewSource makes one over
//     the wire.
//
// It keeps no state of objects: caches are package informer's. It knows nothing of the server but its API: any Kubernetes
// will do.
package client

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Object is what a Resource reads and writes: a pointer to a typed API struct, or *unstructured.Unstructured.
type Object interface {
	runtime.Object
	metav1.Object
}

// Client speaks to one server. It may be used by many goroutines.
type Client struct {
	rest       *rest.RESTClient
	parameters runtime.ParameterCodec
	kinds      *kinds
	server     string
}

// New makes a client. It takes host, identity and transport from config, which it does not change, and speaks protobuf for
// Kubernetes' own types and JSON for all others. Its writes tell the observers of Observe, and its errors what is wrong with a
// server that cannot be spoken to.
func New(config *rest.Config, options ...Option) (*Client, error) {
	own := rest.CopyConfig(config)
	if own.UserAgent == "" {
		own.UserAgent = rest.DefaultKubernetesUserAgent() // the HTTP client says it, and servers make the field manager of it
	}
	explain(own)
	observe(own)
	httpClient, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("making an HTTP client for %s: %w", own.Host, err)
	}
	c, err := newClient(own, httpClient)
	if err != nil {
		return nil, err
	}
	c.server = serverOf(own)
	return c.With(options...), nil
}

func newClient(config *rest.Config, httpClient *http.Client) (*Client, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandler = rest.NoWarnings{} // a program has nobody to warn; klog's default prints to stderr
	}
	c, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	return &Client{rest: c, parameters: runtime.NewParameterCodec(scheme), kinds: newKinds(nil)}, nil
}

// REST is the client-go client underneath, for paths that are no resource's, such as discovery.
func (c *Client) REST() rest.Interface { return c.rest }

// Server is which server the client speaks to: its URL, or, for one of this process, something that no other has. It is the same
// for all clients of configs with one host.
func (c *Client) Server() string { return c.server }

// options turns List-, Create-, ... Options into query parameters.
func (c *Client) options(q *rest.Request, options runtime.Object) *rest.Request {
	return q.SpecificallyVersionedParams(options, c.parameters, schema.GroupVersion{Version: "v1"})
}

// ask begins a request to a resource, or to an object of it, or to a subresource of that. Namespace, name and subresource may be
// empty. One that would lead elsewhere ("..", "a/b") is the error of sending it.
func (c *Client) ask(verb string, resource schema.GroupVersionResource, namespace, name, subresource string) *rest.Request {
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
	switch { // the request keeps the error
	case astray(namespace):
		q.Namespace(namespace)
	case astray(name):
		q.Name(name)
	case astray(subresource):
		q.SubResource(subresource)
	}
	return q
}

func astray(segment string) bool { return len(rest.IsValidPathSegmentName(segment)) > 0 }

// path is where the resources of a version are served.
func path(version schema.GroupVersion) []string {
	if version.Group == "" {
		return []string{"/api", version.Version}
	}
	return []string{"/apis", version.Group, version.Version}
}

// do sends a request and returns the body of its answer. An error is the Status that the server sent, if it sent one.
func do(ctx context.Context, q *rest.Request) ([]byte, error) {
	body, _, err := doWarned(ctx, q)
	return body, err
}

// doWarned is do with the warnings of the answer.
func doWarned(ctx context.Context, q *rest.Request) ([]byte, []net.WarningHeader, error) {
	result := q.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, nil, err
	}
	body, err := result.Raw()
	return body, result.Warnings(), err
}
