// Package request is the typed form of a request for an API resource, and of its result: what package httpapi makes of
// HTTP, and what packages read and write take and return. It knows routes, media types and options.
package request

import (
	"context"
	"net/url"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stage"
)

// MaxBody is the maximum length of a request's body, in bytes. It is kube-apiserver's.
const MaxBody = 3 << 20

// Request is a request for an API resource. It belongs to one goroutine.
type Request struct {
	*Route
	Kind     kind.Kind
	Info     *kind.Info
	Endpoint *kind.Endpoint
	// Stored names the resource in the store, with the hub's group.
	Stored schema.GroupResource
	// GVK is the endpoint's group and version with the kind's name.
	GVK schema.GroupVersionKind
	// ObjectNamespace is the namespace of the request's objects. It is empty for cluster-scoped kinds: the route of a
	// Namespace names it in the place of a namespace, but it is in none.
	ObjectNamespace string
	Sub             *kind.Subresource // nil for the object itself
	User            *auth.User
	Accept          Media
	// Query are the parameters of the URL; nil if there are none.
	Query url.Values
	// ContentType is the media type of the body, without parameters.
	ContentType string
	UserAgent   string
	// Body reads the whole body, at most once.
	Body Body
	// Seats are released early by a request that waits, for example for initializers.
	Seats Seats
	// Spans is nil if the request is not traced.
	Spans *stage.Spans
	// Warnings are sent with the answer, in order.
	Warnings []string
	// Authorizer decides what the user may do beside the request's verb.
	Authorizer auth.Authorizer
	ctx        context.Context
}

// Body is the body of a request.
type Body interface {
	// ReadBody reads the whole body. It fails if the body is longer than MaxBody, and when the request's deadline
	// passes, so that a slow sender holds no seats.
	ReadBody() ([]byte, error)
}

// Seats are what a request holds in the fair queue.
type Seats interface {
	// Leave gives the seats back. It may be called again.
	Leave()
}

// New returns a request for a resource that is served. The caller sets the other fields.
func New(ctx context.Context, route *Route, entry kind.Entry, user *auth.User) *Request {
	info := entry.Kind.Info()
	r := &Request{Route: route, Kind: entry.Kind, Info: info, Endpoint: entry.Endpoint, User: user, ctx: ctx,
		Stored: info.GroupResource(), GVK: entry.Endpoint.GroupVersion().WithKind(info.Kind)}
	if info.Namespaced {
		r.ObjectNamespace = route.Namespace
	}
	return r
}

// Context ends when the client disconnects or the request's time is over.
func (r *Request) Context() context.Context { return r.ctx }

// WithContext returns a copy of the request with another context.
func (r *Request) WithContext(ctx context.Context) *Request {
	other := *r
	other.ctx = ctx
	return &other
}

// Resource names the resource in errors, with the endpoint's group.
func (r *Request) Resource() schema.GroupResource { return r.GVR.GroupResource() }

// Key returns the key of the object that the request names.
func (r *Request) Key() object.Key { return object.KeyOf(r.Stored, r.ObjectNamespace, r.Name) }

// Form returns the form in which the answer's objects are encoded. Custom resources have no protobuf form, whatever
// their metadata is sent as.
func (r *Request) Form() object.Form {
	form := object.Form{APIVersion: r.Endpoint.APIVersion()}
	if r.Info.Builtin && r.Accept.Name == Protobuf {
		form.Format = object.Protobuf
	}
	return form
}

// Codec returns the codec of stored objects of the kind: that of the newest definition, which may be newer than the
// request.
func (r *Request) Codec() object.Codec { return kind.CodecOf(r.Kind) }

// maxWarnings bounds the Warnings of an answer. An answer has fewer, because their total length is limited, but a
// webhook can return millions.
const maxWarnings = 4096

// Warn adds a Warning to the answer, unless it has very many.
func (r *Request) Warn(text string) {
	if len(r.Warnings) < maxWarnings {
		r.Warnings = append(r.Warnings, text)
	}
}

// AddWarning implements the Recorder of k8s.io/apiserver's package warning, for the validation of kinds. It ignores
// duplicates.
func (r *Request) AddWarning(_, text string) {
	if len(r.Warnings) < maxWarnings && !slices.Contains(r.Warnings, text) {
		r.Warn(text)
	}
}

// May returns an error unless the user may perform another verb on the request's object. It implements
// admission.Rights.
func (r *Request) May(ctx context.Context, verb string) error {
	other := *r.Route
	other.Verb = verb
	return Authorize(ctx, r.Authorizer, &other, r.User)
}

// Authorize returns an error if the user may not do what a route says.
func Authorize(ctx context.Context, by auth.Authorizer, route *Route, user *auth.User) error {
	attributes := route.Attributes(user)
	decision, reason, err := by.Authorize(ctx, attributes)
	if err != nil {
		return err
	}
	if decision != auth.Allow {
		return auth.Forbidden(attributes, reason)
	}
	return nil
}

// Result is the outcome of a request: one of Object, State, Page and Status is set.
type Result struct {
	// Code is the HTTP status code; 0 means 200, or the code of Status.
	Code int
	// Object is a stored object, of which a subresource shows its view.
	Object *object.Object
	// State is an object that is not stored: the result of a dry run, or the last state of a deleted object.
	State kind.Object
	// Page is the answer to a list or to the deletion of a collection.
	Page *Page
	// Status answers requests whose result is no object.
	Status *metav1.Status
}

// Page is a list: selected objects of one snapshot.
type Page struct {
	Items []*object.Object
	Meta  ListMeta
}

// ListMeta is the metadata of a list.
type ListMeta struct {
	Revision  object.Revision
	Next      string // the continue token; empty on the last page
	Remaining *int64
}

// Shown returns the metadata as lists of typed kinds, tables and lists of metadata carry it.
func (m ListMeta) Shown() *metav1.ListMeta {
	return &metav1.ListMeta{ResourceVersion: m.Revision.String(), Continue: m.Next, RemainingItemCount: m.Remaining}
}
