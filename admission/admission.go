// Package admission defines the interface of admission plugins, which may change or reject a write after it was
// decoded and before it is stored.
//
// A program that embeds Bowline implements Plugin and passes it in bowline.Options.Plugins. A plugin receives the
// write as Attributes and reads the server's other objects through a Reader; it has no access to the storage.
package admission

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Operation is what a request does.
type Operation string

// The operations that plugins are called for: three kinds of writes, and Connect, a request that the server forwards to
// a pod, a service or a node, whatever its method: exec, attach, portforward and proxy. Reads, and logs, do not go
// through admission.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Object is an API object: a pointer to a struct of k8s.io/api for a built-in kind, or an *unstructured.Unstructured
// for a custom resource.
type Object = kind.Object

// Attributes describes one write. The server creates a value for the Admit calls of a write and another one for its
// Validate calls, and passes it to one plugin after the other, so that plugins need no locking to access it. A plugin
// must not use it after its method returned.
type Attributes struct {
	// Operation is Create, Update, Delete or Connect.
	Operation Operation
	// Resource and Kind have the API version of the request. Object and Old may have another one: objects of
	// built-in kinds are in the hub version of their kind, custom resources in the version of the request.
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
	// ServedKind is the definition of the object's kind, with the endpoint of the request's version. Its type is
	// internal; only the built-in plugins use it.
	ServedKind kind.Kind
	// Subresource is empty for a write to the object itself.
	Subresource string
	// Namespace is empty for a cluster-scoped object.
	Namespace string
	// Name is the name in the URL or in the new object. It is empty for a create whose name is not generated
	// yet, and for each object that a delete of a collection deletes.
	Name string
	// Object is the new state; nil for a delete. For a create of a subresource (an Eviction, a Binding),
	// Object is the request body and Kind is its kind; the resulting change to the parent object does not go
	// through admission. For a Connect, Object is an *unstructured.Unstructured with the options of the request (a
	// PodExecOptions), and Kind is their kind. Admit may modify Object.
	Object Object
	// Old is the stored state; nil for a create. It is shared and must not be modified.
	Old Object
	// User, UserUID, Groups and Extra identify the client that sent the write. They must not be modified. UserUID is
	// empty unless the client is a service account.
	User    string
	UserUID string
	Groups  []string
	Extra   map[string][]string
	// FieldManager and FieldValidation are the options of the request, empty where the client set none. A
	// delete has neither; its options are in Deletion.
	FieldManager, FieldValidation string
	Deletion                      *metav1.DeleteOptions
	// Rights checks further permissions of the client on the object; nil means that everything is allowed.
	Rights Rights
	// Authorizer evaluates authorization checks in CEL match conditions. If it is nil, such checks fail.
	Authorizer authorizer.UnconditionalAuthorizer
	// DryRun is set if the result will not be stored. A plugin with side effects elsewhere must skip them.
	DryRun bool
	// Warn adds a text to the Warning headers of the response. It may be nil.
	Warn func(text string)

	// Also adds a change of another object to the commit of the write: both are stored, or neither. The server calls
	// change with the newest state of the object, which may not be stored yet and must not be modified. change returns
	// the new state, which the server owns from then on, nil to leave the object as it is, or an error that rejects the
	// write. It runs while other writes wait, perhaps several times, and must return at once. It is not called if the
	// object does not exist, if it is the object that the request itself writes, or for a dry run. Also returns an
	// error if the objects to change are too large for that. Only the built-in plugins use it, in Validate. It may be
	// nil.
	Also func(resource schema.GroupResource, namespace, name string, change func(newest Object) (Object, error)) error

	// Provision creates a namespace that does not exist, as a write of the server itself that goes through admission.
	// It remains if the write that the plugin admits is rejected. Only the built-in plugins use it, in Admit, and not
	// for a dry run. It may be nil.
	Provision func(ctx context.Context, namespace string) error

	// Reinvoke requests a second round of Admit calls on all plugins. A built-in plugin sets it after
	// changing an Object that earlier plugins had already admitted. It has no effect in round 1.
	Reinvoke bool
	// Round is 0 while the plugins are called for the first time. If a plugin sets Reinvoke, all plugins are
	// called a second time, with Round 1.
	Round int

	remembered map[string]any
}

// Remember keeps a value for later calls of a plugin for this write: its second Admit, and Validate.
func (a *Attributes) Remember(plugin string, value any) {
	if a.remembered == nil {
		a.remembered = map[string]any{}
	}
	a.remembered[plugin] = value
}

// Remembered returns the value that the plugin last passed to Remember, nil if there is none.
func (a *Attributes) Remembered(plugin string) any { return a.remembered[plugin] }

// Forbidden returns a 403 error for this write, in Kubernetes' wording. It names the resource and the object; format
// and args are the reason.
func (a *Attributes) Forbidden(format string, args ...any) *apierrors.StatusError {
	name := a.Name
	if name == "" && a.Object != nil { // a create with generateName
		if name = a.Object.GetGenerateName(); name == "" {
			name = "Unknown"
		}
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), name, fmt.Errorf(format, args...))
}

// Rights checks what a client may do with an object beyond the write itself.
type Rights interface {
	// May returns nil if the client may use the verb on the object, and otherwise a 403 error with the reason.
	May(ctx context.Context, verb string) error
}

// Plugin may change or reject writes. Its methods are called concurrently for different writes, and more than
// once for a write that is retried after a conflict. They must return when their context ends. Any error rejects the
// write: a Status error, such as Attributes.Forbidden returns, and the error of a context are sent to the client
// unchanged; any other error is reported as a 500 that names the plugin.
type Plugin interface {
	// Name identifies the plugin in logs and errors.
	Name() string
	// Handles reports whether the server should call Admit and Validate for an operation on a resource.
	Handles(op Operation, resource schema.GroupResource, subresource string) bool
	// Admit may modify a.Object. The server calls it before it validates the object.
	Admit(ctx context.Context, a *Attributes, state Reader) error
	// Validate is called with the object as it would be stored, after the server validated it, and must not modify it.
	Validate(ctx context.Context, a *Attributes, state Reader) error
}

// Reader gives plugins the latest state of the server, in the hub versions of the kinds. The objects that it
// returns are shared and must not be modified. Its methods are safe for concurrent use.
type Reader interface {
	// Get returns nil without an error if the object does not exist or is not initialized yet. Namespaces are
	// returned even when they are not initialized, because initializers create objects in them.
	Get(ctx context.Context, resource schema.GroupResource, namespace, name string) (Object, error)
	// List calls yield for each initialized object of a resource until yield returns false. An empty namespace means
	// all namespaces. It returns an error if the resource is unknown or an object cannot be decoded.
	List(ctx context.Context, resource schema.GroupResource, namespace string, yield func(Object) bool) error
}

// Follower is implemented by Readers that report changes, so that a plugin can cache what it derives from the
// objects of a resource instead of listing them for each write.
type Follower interface {
	// Changes returns a channel that is closed when an object of the resource changes after the call. Call it again
	// for the next change.
	Changes(resource schema.GroupResource) (<-chan struct{}, error)
}
