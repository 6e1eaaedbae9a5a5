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
	"github.com/bowline-dev/bowline/object"
)

// maxBody is the largest request body, in bytes: what kube-apiserver takes.
const maxBody = 3 << 20

// call is a request to an API resource on its way through the pipeline: the typed form of what came over HTTP.
type call struct {
	http *http.Request
	w    http.ResponseWriter
	*route
	kind     kind.Kind
	endpoint *kind.Endpoint
	sub      *kind.Subresource // nil for the object itself
	user     *auth.User
	accept   media
	spans    *spans // nil while nobody traces
	// server answers it; nil in process.
	server *Server
	// exchange is told of a watch that goes on; nil in process.
	exchange *exchange
	// warnings are sent with the answer, in order.
	warnings []string
}

func (c *call) context() context.Context { return c.http.Context() }

// info is the data of the kind that the call is about.
func (c *call) info() *kind.Info { return c.kind.Info() }

// resource names the resource in errors: by the endpoint's group.
func (c *call) resource() schema.GroupResource { return c.gvr.GroupResource() }

// stored is where the objects are: by the hub's group.
func (c *call) stored() schema.GroupResource { return c.info().GroupResource() }

// key of the object that the call names.
func (c *call) key() object.Key { return object.KeyOf(c.stored(), c.namespaceOfObject(), c.name) }

// namespaceOfObject is empty for cluster-scoped kinds, whose objects stand in no namespace (a Namespace is named by the
// namespace part of its URL, and is in none).
func (c *call) namespaceOfObject() string {
	if c.info().Namespaced {
		return c.namespace
	}
	return ""
}

// gvk of the endpoint.
func (c *call) gvk() schema.GroupVersionKind {
	return c.endpoint.GroupVersion().WithKind(c.info().Kind)
}

// protobuf says whether the kind has a protobuf form.
func (c *call) protobuf() bool { return c.info().Protobuf }

// readBody reads a whole body within the request's time: one that does not come holds nobody up.
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

// whenOver calls f when ctx ends before stop is called. f does not run any longer when stop returns: it may use what the
// handler's return takes away.
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

// matchURL checks that the object is the one that the URL names. A create needs no name.
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
		obj.SetNamespace("") // nothing else is meant
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
