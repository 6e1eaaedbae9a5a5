// Package write creates, changes and deletes objects. It takes a request.Request whose form of the answer is already
// negotiated, and returns a request.Result for package render to encode, or an error that package status maps to a
// Status. Warnings are added to the request. It knows no HTTP except for status codes.
//
// A write is an operation, which goes through these stages in order, each a method and a span of the request's trace:
// decode, patch, own, admit, validate, encode, commit.
package write

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/plugins"
	"github.com/bowline-dev/bowline/internal/server/claim"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/review"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/store"
)

// Options configure a Writer. All fields except Lifecycle and Tokens are required.
type Options struct {
	Store  *store.Store
	Kinds  *kind.Registry
	Reader *stored.Reader
	// Admission are the plugins that change and reject writes. Lifecycle reports whether plugins.NamespaceLifecycle is
	// one of them.
	Admission *plugins.Chain
	Lifecycle bool
	// Authorizer evaluates the authorization checks in CEL match conditions of plugins.
	Authorizer auth.Authorizer
	// Reviews answers the creates of kinds with kind.Info.Review.
	Reviews *review.Reviewer
	// Tokens signs the tokens of service accounts; nil if the server issues none.
	Tokens      *serviceaccount.Issuer
	Definitions Definitions
	Expiry      Expiry
	// Select lists the objects that a deletecollection deletes.
	Select func(*request.Request) (*request.Page, error)
	// Observe records the duration of a step of admission, "admit" or "validate", of one operation.
	Observe func(step, operation string, start time.Time, err error)
	// Tasks is canceled when the server closes, which ends the creates that wait for initializers.
	Tasks *tasks.Group
	Log   *slog.Logger
}

// Definitions are the kinds that CustomResourceDefinitions define.
type Definitions interface {
	// CheckCreate returns the error of a create while the resource's definition is being deleted.
	CheckCreate(gr schema.GroupResource, verb string) error
	// RollBackCreate deletes a new object and returns the error of its create if the resource's definition has been, or
	// is being, deleted.
	RollBackCreate(ctx context.Context, gr schema.GroupResource, verb string, committed *object.Object) error
	// AfterCommit is called after the commit of a definition: it serves the defined kind. before is nil for a create,
	// after for a removal.
	AfterCommit(ctx context.Context, before, after *object.Object) error
	// Defined reports whether the kind of a resource is served because of a definition.
	Defined(gr schema.GroupResource) bool
	// Builtin returns the kinds that are served without a definition.
	Builtin() []kind.Kind
}

// Expiry deletes objects of kinds with a Lifetime.
type Expiry interface {
	// Schedule schedules the expiry of an object of the resource after its commit returned err.
	Schedule(resource schema.GroupResource, o *object.Object, err error)
}

// Writer writes objects. Its methods may be called concurrently.
type Writer struct {
	Options
	owners owners
	claims claim.Claims
}

// New returns a Writer. It calls nothing in the options before the first write.
func New(o Options) *Writer {
	return &Writer{Options: o, claims: claim.Claims{Store: o.Store, Kinds: o.Kinds}}
}

// ConvertClaims prepares claims that an earlier version has left: see claim.Claims.Convert.
func (w *Writer) ConvertClaims(ctx context.Context) error { return w.claims.Convert(ctx) }

// restoreAddress creates an IPAddress again that was removed while a service uses the address, as Kubernetes' repair
// controller does. The end of ctx does not prevent that.
func (w *Writer) restoreAddress(ctx context.Context, key object.Key) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalTimeout)
	defer cancel()
	if err := w.claims.Restore(ctx, key.Name()); err != nil {
		w.Log.Warn("an address that a service uses has no IPAddress until the next start", "key", key, "error", err)
	}
}

// Forget removes what is cached for a resource whose kind was replaced or is no longer served.
func (w *Writer) Forget(gr schema.GroupResource) { w.owners.forget(gr) }

const (
	// generateTries is the number of retries of a create with another generated name.
	generateTries = 8
	// claimTries is the number of retries of a create after another writer claimed an assigned value, or changed the
	// object's namespace.
	claimTries = 100
	// writeTries is the number of retries of an update, patch or delete that names no resourceVersion.
	writeTries = 100
)
