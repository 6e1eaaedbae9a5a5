// Package admission is where a write may still be changed or refused after it was decoded and before it is stored: the
// plugin interface, the chain that asks the plugins, and the plugins that every plane has (namespace lifecycle, the taint
// of new nodes, priority, default tolerations, the default class of ingresses).
//
// The interface is public: whoever builds on the library compiles in plugins of their own. Plugins see the state of the
// server through a Reader, which the server provides; they never reach its storage.
package admission

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Operation is what a request does to an object.
type Operation string

// The operations that are admitted. Reads are not.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
	Delete Operation = "DELETE"
)

// Attributes are a write on its way.
type Attributes struct {
	Operation Operation
	// Resource and Kind are in the version of the request, Object and Old in the hub version of their kind.
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
	// Of is the kind of the object, as the version of the request has it.
	Of kind.Kind
	// Subresource is empty for the object itself.
	Subresource string
	// Namespace is empty for a cluster-scoped object.
	Namespace string
	// Name is that in the URL, or of a new object: empty for a create whose name is yet to be generated, and for each object of a
	// collection that is deleted.
	Name string
	// Object is the new state; nil for a delete. Of a create of a subresource (an Eviction, a Binding) it is the body, and Kind is
	// its kind: what that does to the object is not asked about. Admit may change it.
	Object kind.Object
	// Old is the state that is there; nil for a create. It must not be changed.
	Old kind.Object
	// User and Groups are who writes, Extra is what else is known of them.
	User   string
	Groups []string
	Extra  map[string][]string
	// FieldManager and FieldValidation are options of the write as the client gave them; empty where it gave none, and for a
	// delete, which has Deletion.
	FieldManager, FieldValidation string
	Deletion                      *metav1.DeleteOptions
	// Rights are what else the writer may do; nil for everything.
	Rights Rights
	// Authorizer answers conditions in CEL that ask what anybody may do; nil answers nothing.
	Authorizer authorizer.UnconditionalAuthorizer
	// DryRun says that nothing will be stored: a plugin that acts elsewhere must not.
	DryRun bool
	// Warn adds a text to the Warning headers of the answer.
	Warn func(text string)

	// Round is 0 while the plugins are asked first. When one of them calls AskAgain, all are asked once more, in round 1.
	Round int
	// Memory is what the plugin that calls AskAgain remembers from round to round.
	Memory any
	again  bool
}

// AskAgain has all plugins see the object once more, after the last of them: it was changed by what they know nothing of. It
// does nothing in round 1.
func (a *Attributes) AskAgain() { a.again = true }

// Forbidden is the 403 of a write that a plugin refuses, in Kubernetes' words: which object, and why.
func (a *Attributes) Forbidden(format string, args ...any) *apierrors.StatusError {
	name := a.Name
	if name == "" && a.Object != nil { // it has none yet
		if name = a.Object.GetGenerateName(); name == "" {
			name = "Unknown"
		}
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), name, fmt.Errorf(format, args...))
}

// Rights are what somebody may do with an object beside writing it.
type Rights interface {
	// May is nil when a verb is allowed, and else says why it is not.
	May(ctx context.Context, verb string) error
}

// Plugin has a say in some writes. Its methods are called concurrently, and again when a write is tried again. An error
// refuses the write: one that is a metav1 Status, such as Attributes.Forbidden makes, is answered as it is; any other is
// the plugin's own failure, a 500 that names it.
type Plugin interface {
	// Name of the plugin, for logs and errors.
	Name() string
	// Handles says whether the plugin wants to see a write of this sort at all.
	Handles(op Operation, resource schema.GroupResource, subresource string) bool
	// Admit may change a.Object. It is called before the object is validated.
	Admit(ctx context.Context, a *Attributes, state Reader) error
	// Validate sees the object as it would be stored, and must not change it.
	Validate(ctx context.Context, a *Attributes, state Reader) error
}

// Reader is the state of the server as plugins see it: the latest, without conversion. What it returns is shared and
// must not be changed.
type Reader interface {
	// Get is nil without an error when there is no such object, or one that initializers have still to act on, unless it is a
	// namespace: those who act on it put things into it.
	Get(ctx context.Context, resource schema.GroupResource, namespace, name string) (kind.Object, error)
	// List yields the objects of a resource, of one namespace or, when that is empty, of all, until yield returns false; but for
	// those that initializers have still to act on.
	List(ctx context.Context, resource schema.GroupResource, namespace string, yield func(kind.Object) bool) error
}

// Follower is implemented by Readers that tell of changes, so that who made something of the objects of a resource need not
// read them for each write.
type Follower interface {
	// Changes returns a channel that is closed when an object of the resource changes after the call.
	Changes(resource schema.GroupResource) (<-chan struct{}, error)
}

// Chain asks plugins, in order.
type Chain struct {
	plugins []Plugin
	state   Reader
}

// NewChain makes a chain of plugins that read state.
func NewChain(state Reader, plugins ...Plugin) *Chain { return &Chain{plugins: plugins, state: state} }

// Defaults are the plugins that every plane has, in Kubernetes' order.
func Defaults() []Plugin {
	return []Plugin{NamespaceLifecycle{}, TaintNodes{}, Priority{}, DefaultTolerations{}, DefaultIngressClass{}}
}

// Admit lets each plugin change the object, and once more where one of them asks for that. The first error ends it.
func (c *Chain) Admit(ctx context.Context, a *Attributes) error {
	admit := func(p Plugin) error { return p.Admit(ctx, a, c.state) }
	if err := c.each(a, admit); err != nil || !a.again {
		return err
	}
	a.Round = 1
	return c.each(a, admit)
}

// Validate lets each plugin refuse the object as it would be stored. The first error ends it.
func (c *Chain) Validate(ctx context.Context, a *Attributes) error {
	return c.each(a, func(p Plugin) error { return p.Validate(ctx, a, c.state) })
}

func (c *Chain) each(a *Attributes, ask func(Plugin) error) error {
	for _, p := range c.plugins {
		if !p.Handles(a.Operation, a.Resource.GroupResource(), a.Subresource) {
			continue
		}
		if err := ask(p); err != nil {
			return answered(p, err)
		}
	}
	return nil
}

// answered is an error as the client is to see it.
func answered(p Plugin, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return apierrors.NewInternalError(fmt.Errorf("admission plugin %q failed: %w", p.Name(), err))
}
