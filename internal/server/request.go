package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// maxBody is the maximum length of a request's body, in bytes. It is kube-apiserver's.
const maxBody = 3 << 20

// call is the typed form of a request for an API resource.
type call struct {
	http *http.Request
	w    http.ResponseWriter
	*route
	kind     kind.Kind
	endpoint *kind.Endpoint
	sub      *kind.Subresource // nil for the object itself
	user     *auth.User
	accept   media
	spans    *spans // nil if the request is not traced
	// server serves the request; nil for requests of a Source.
	server *Server
	// exchange receives the watch to stream; nil for requests of a Source.
	exchange *exchange
	// warnings are sent with the answer, in order.
	warnings []string
}

func (c *call) context() context.Context { return c.http.Context() }

// info returns the data of the request's kind.
func (c *call) info() *kind.Info { return c.kind.Info() }

// resource names the resource in errors, with the endpoint's group.
func (c *call) resource() schema.GroupResource { return c.gvr.GroupResource() }

// stored names the resource in the store, with the hub's group.
func (c *call) stored() schema.GroupResource { return c.info().GroupResource() }

// key returns the key of the object that the request names.
func (c *call) key() object.Key { return object.KeyOf(c.stored(), c.namespaceOfObject(), c.name) }

// namespaceOfObject returns the namespace of the request's objects. It is empty for cluster-scoped kinds: the
// route of a Namespace names it in the place of a namespace, but it is in none.
func (c *call) namespaceOfObject() string {
	if c.info().Namespaced {
		return c.namespace
	}
	return ""
}

// gvk returns the endpoint's group and version with the kind's name.
func (c *call) gvk() schema.GroupVersionKind {
	return c.endpoint.GroupVersion().WithKind(c.info().Kind)
}

// builtin reports whether the kind is built in, not made of a definition.
func (c *call) builtin() bool { return c.info().Builtin }

// readBody reads the whole body. It fails when the request's deadline passes, so that a slow sender holds no
// seats.
func (c *call) readBody() ([]byte, error) {
	r := c.http
	if r.ContentLength > maxBody {
		return nil, tooBig()
	}
	defer whenOver(r.Context(), func() { http.NewResponseController(c.w).SetReadDeadline(time.Now()) })()
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		if ctxErr := r.Context().Err(); ctxErr != nil {
			return nil, ctxErr
		}
		return nil, apierrors.NewBadRequest("the body of the request broke off: " + err.Error())
	}
	if n > maxBody {
		return nil, tooBig()
	}
	return buf.Bytes(), nil
}

// whenOver calls f when ctx ends before stop is called. f is not running when stop returns, so it may use
// what is released when the handler returns.
func whenOver(ctx context.Context, f func()) (stop func()) {
	ran := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() { defer close(ran); f() })
	return func() {
		if !cancel() {
			<-ran
		}
	}
}

func tooBig() error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
}

// matchURL checks that the object has the namespace and name of the URL. The object of a create needs no
// name.
func (c *call) matchURL(obj metav1.Object) error {
	if c.info().Namespaced {
		switch obj.GetNamespace() {
		case c.namespace:
		case "":
			obj.SetNamespace(c.namespace)
		default:
			return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
		}
	} else {
		obj.SetNamespace("") // whatever the body says
	}
	switch {
	case c.verb == "create":
		return nil
	case obj.GetName() == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", c.name))
	}
	if obj.GetName() != c.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), c.name))
	}
	return nil
}
