// Package kind defines the interface between the request pipeline and the kinds of objects: everything that
// differs between a Pod and a custom resource. There are two implementations of Kind. A typed kind wraps a Go
// struct; all built-in kinds are typed (package internal/kind/builtin and its folders, one per API group). A
// structural kind is created at run time from a CustomResourceDefinition (package internal/kind/structural).
// The request pipeline does not refer to any kind by name.
//
// A kind consists of data and rules. The data is Info: names, scope, endpoints, verbs, subresources. The
// rules are Go functions that default, prepare, validate and print objects; each is optional. A Registry
// holds the kinds of a server.
package kind

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/object"
)

// Object is a decoded object in the version that defaults, admission and validation work on: the kind's hub
// version or, for a Custom kind, the version of the request.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind is a kind of objects as the request pipeline uses it. All methods are safe for concurrent use. Methods
// with a parameter obj may modify the object unless they state otherwise; parameters named old are shared and
// are never modified.
type Kind interface {
	// Codec encodes and decodes stored objects. Decode always returns an Object. The objects of a Versioned
	// kind are decoded with the result of CodecOf.
	object.Codec

	// Info returns the kind's data, which the caller must not modify.
	Info() *Info

	// New returns an empty object of the version that the rules work on.
	New() Object

	// DecodeRequest decodes a request body in the given form into the version of that form, applies that
	// version's defaults, and converts the result to the hub version, unless the kind is Custom. Unknown
	// and duplicate fields are dropped and listed in strict (as `unknown field "spec.x"`), unless lenient is
	// set. err reports a body that cannot be decoded at all. Until it is encoded, obj may still have the
	// apiVersion of the request.
	DecodeRequest(form object.Form, body []byte, lenient bool) (obj Object, strict []string, err error)

	// Receive and Accept are the two steps of DecodeRequest, so that the caller can measure each. Receive decodes a
	// body into its own version, without defaults. Accept applies the defaults and converts the result to the version
	// that the rules work on. It takes ownership of sent.
	Receive(form object.Form, body []byte, lenient bool) (sent runtime.Object, strict []string, err error)
	Accept(sent runtime.Object, apiVersion string) (Object, error)

	// Prepare restores in obj the fields of old that this write cannot change, and updates the generation.
	// old is nil for a create; sub is the name of the subresource that is written, or empty.
	Prepare(obj, old Object, sub string)

	// Validate returns the errors of obj, on create (old is nil) or update, through a subresource or not. The
	// pipeline validates the metadata. Validate must be fast for valid objects, except for the rules of a
	// custom resource definition: their evaluation stops when ctx ends, and errors that old has too are added
	// to ctx as warnings (package warning of k8s.io/apiserver).
	Validate(ctx context.Context, obj, old Object, sub string) field.ErrorList

	// Warnings returns texts for the Warning headers of the response; usually none. old and sub are as for
	// Validate.
	Warnings(obj, old Object, sub string) []string

	// Fields returns the values of the selectable fields, except metadata.name and metadata.namespace; nil if
	// there are none.
	Fields(obj Object) map[string]string

	// Columns returns the columns of a Table in a version.
	Columns(apiVersion string) []metav1.TableColumnDefinition

	// Row returns the cells of an object for these columns; ages are relative to now.
	Row(obj Object, apiVersion string, now time.Time) ([]any, error)

	// Convert converts an object of the kind from any version to another. It does not modify obj, and the
	// result shares no memory with obj that a caller may modify; but if obj already has that version, obj
	// itself is returned.
	Convert(obj runtime.Object, apiVersion string) (runtime.Object, error)

	// Prototype returns an empty struct whose tags direct a strategic merge patch in a version, or nil if the
	// kind does not support these patches.
	Prototype(apiVersion string) runtime.Object

	// GracePeriod returns the seconds that a delete leaves an object of a kind with Info.Graceful. requested is the
	// value in the request, or nil.
	GracePeriod(obj Object, requested *int64) int64

	// BeginDelete is called on a delete. A kind may delay the removal of its deleted objects by its own means, in
	// addition to metadata.finalizers: a namespace remains until its contents are gone (spec.finalizers). BeginDelete
	// may update obj to show that its deletion started. If it returns true, the object gets a deletionTimestamp,
	// without a grace period, and remains until Finished returns true. Calling it on an object whose deletion has
	// started changes nothing.
	BeginDelete(obj Object) (keep bool)
	// Finished reports whether the kind no longer delays the removal of obj. It is called for deleted objects only.
	Finished(obj Object) bool

	// Assign chooses the values that an object of a kind with Info.Claims leaves to the server (old is nil on create).
	// errs reject the object; err reports that the server has no value to choose. If a concurrent write wins a chosen
	// value, Assign is called again on a fresh copy of the request.
	Assign(obj, old Object, values Values) (errs field.ErrorList, err error)
	// Claims returns the claims of obj.
	Claims(obj Object) []Claim
	// Record returns the object that shows a claim of obj to clients, without a UID. The claim has a Resource.
	Record(c Claim, obj Object) Object
}

// Info describes a kind.
type Info struct {
	// Kind, Plural and Singular are the names, as in ConfigMap, configmaps and configmap. List is the kind of
	// a list; if it is empty, it is Kind with the suffix "List".
	Kind, List, Plural, Singular string
	// ShortNames are abbreviations that kubectl accepts for the resource, and Categories the groups of
	// resources that it belongs to (all).
	ShortNames, Categories []string
	// Namespaced reports whether objects are in a namespace; other kinds are cluster-scoped.
	Namespaced bool

	// Endpoints are the group-versions that serve the kind. The first is the hub, in which objects are
	// stored.
	Endpoints []Endpoint

	// Verbs are the verbs that the resource serves; nil means create, delete, deletecollection, get, list,
	// patch, update and watch.
	Verbs []string

	// Subresources are served below each object, under every endpoint unless Subresource.Only restricts them.
	Subresources []Subresource

	// Builtin reports whether the kind is built in, and not a Custom one. Objects of built-in kinds are Go structs,
	// with a protobuf form in addition to JSON, and support strategic merge patches.
	Builtin bool

	// Graceful reports whether a delete leaves the object a grace period (pods), which the kind's GracePeriod
	// determines.
	Graceful bool

	// Review marks a kind of reviews: questions that the server answers on create and does not store. The kind serves
	// no other verb.
	Review bool

	// Computed marks a kind whose objects the server computes for each read and does not store. The kind serves get and
	// list only.
	Computed bool

	// SetAuthor sets the fields of a new object that identify its author. It is called after Prepare, and nil for a
	// kind without such fields.
	SetAuthor func(obj Object, author Author)

	// Acts makes a create of the kind act on an existing object of another kind with the same name, instead of storing
	// the new object: a Binding binds a pod. The kind serves no other verb.
	Acts *Act

	// ReturnsDeleted makes a delete respond with the deleted object instead of a Status.
	ReturnsDeleted bool

	// CreateOnUpdate makes a PUT of an object that does not exist create it.
	CreateOnUpdate bool

	// Claims reports whether objects of the kind own unique values: see Kind.Assign.
	Claims bool

	// ConditionalUpdate makes resourceVersion mandatory in a PUT. For other kinds, a PUT without one replaces
	// any state.
	ConditionalUpdate bool

	// Lifetime is the time after the last write of an object at which the server deletes it; 0 means never.
	Lifetime time.Duration

	// Heartbeat states that updates of objects are heartbeats. They continue while the store is full.
	Heartbeat bool

	// Generation makes the server count changes of the declared state in metadata.generation.
	Generation bool

	// Fixed lists top-level fields, besides the status, that an update of the object does not change. As in Kubernetes,
	// no write of the object owns them, not even the create that sets them.
	Fixed []string

	// FieldAnnotation is an annotation that stands for a field of an older version; empty for none. Tables, and clients
	// that ask for metadata alone, do not see it: in Kubernetes, they see the internal version, which has the field.
	FieldAnnotation string

	// ValidateIn returns errors that depend on the labels of the object's namespace, in addition to those of
	// Kind.Validate. It calls labels only if it needs them. nil for a kind without such rules.
	ValidateIn func(obj, old Object, sub string, labels func() (map[string]string, error)) field.ErrorList

	// OwnMetadata marks a kind whose Validate validates the metadata of some new objects, in the order of Kubernetes'
	// errors: the server validates the metadata of a new object only if Validate returns no errors.
	OwnMetadata bool

	// EarlyWarnings returns warnings about a new object before Prepare changes it. They are sent even if the object is
	// invalid. nil for a kind without such warnings.
	EarlyWarnings func(obj Object) []string

	// Undeletable returns why the object of a name cannot be deleted, or "" if it can. As in Kubernetes, the delete of
	// a collection ignores it. nil for a kind without such objects.
	Undeletable func(name string) string

	// CompareRows orders the rows of a list as a table; nil for the order of the list.
	CompareRows func(a, b Object) int

	// ValidName validates metadata.name or, if prefix is set, metadata.generateName; nil requires a DNS
	// subdomain.
	ValidName func(name string, prefix bool) []string
}

// GroupResource returns the resource under which objects of the kind are stored.
func (i *Info) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: i.Endpoints[0].Group, Resource: i.Plural}
}

// Stored reports whether creates store objects of the kind.
func (i *Info) Stored() bool { return !i.Review && i.Acts == nil }

// ListKind returns the kind of a list of objects.
func (i *Info) ListKind() string {
	if i.List != "" {
		return i.List
	}
	return i.Kind + "List"
}

// Endpoint returns the endpoint of a group-version, or nil.
func (i *Info) Endpoint(gv schema.GroupVersion) *Endpoint {
	for n := range i.Endpoints {
		if e := &i.Endpoints[n]; e.Group == gv.Group && e.Version == gv.Version {
			return e
		}
	}
	return nil
}

// SubresourcesOf returns the subresources of a group-version. The caller must not modify the result.
func (i *Info) SubresourcesOf(gv schema.GroupVersion) []Subresource {
	if !slices.ContainsFunc(i.Subresources, func(s Subresource) bool { return !s.ServedIn(gv) }) {
		return i.Subresources
	}
	return slices.DeleteFunc(slices.Clone(i.Subresources), func(s Subresource) bool { return !s.ServedIn(gv) })
}

// ServedIn reports whether a group-version serves the subresource.
func (s *Subresource) ServedIn(gv schema.GroupVersion) bool { return s.Only.Empty() || s.Only == gv }

// Subresource returns the subresource with that name, or nil.
func (i *Info) Subresource(name string) *Subresource {
	for n := range i.Subresources {
		if i.Subresources[n].Name == name {
			return &i.Subresources[n]
		}
	}
	return nil
}

// allVerbs are the default verbs of a resource, in the order of discovery documents.
var allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// ServedVerbs returns the verbs of the kind's resource. The caller must not modify the result.
func (i *Info) ServedVerbs() []string {
	if i.Verbs == nil {
		return allVerbs
	}
	return i.Verbs
}

// HasVerb reports whether the kind's resource serves a verb.
func (i *Info) HasVerb(verb string) bool { return slices.Contains(i.ServedVerbs(), verb) }

// Endpoint is a group-version under which a kind is served.
type Endpoint struct {
	Group, Version string
	// Selectable maps the field selectors that the endpoint supports, in addition to metadata.name and
	// metadata.namespace, to the keys of their values in the result of Kind.Fields; an empty key means the
	// same name.
	Selectable map[string]string
	// NoNamespaceSelector rejects the field selector metadata.namespace, as Kubernetes does for some kinds.
	NoNamespaceSelector bool
	// UnsupportedField formats the name of a field selector that the endpoint does not support; empty for the usual
	// text.
	UnsupportedField string
	// Deprecated is a warning that is added to every response of the endpoint; empty for none.
	Deprecated string
	// Unserved marks a version in which objects may be stored but which serves no requests. An endpoint that a built-in
	// kind marks is off by default, and a setting turns it on: see builtin.APIs.
	Unserved bool
	// Orphans makes a delete that sets no propagation policy orphan the object's dependents, as old API
	// versions do. OrphanWarning is added to the response to such a delete; empty for none.
	Orphans       bool
	OrphanWarning string
}

// GroupVersion returns the group-version that the endpoint serves.
func (e *Endpoint) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: e.Group, Version: e.Version}
}

// APIVersion returns the group-version in the form of the apiVersion field.
func (e *Endpoint) APIVersion() string { return e.GroupVersion().String() }

// Subresource is a part of an object, or an action on it, with its own path below that of the object.
type Subresource struct {
	// Name is the last element of the path: status, scale, binding.
	Name string
	// Kind is the kind of the request and response bodies. The zero value means the object itself (status,
	// finalize); then Prepare decides which fields the write may change.
	Kind schema.GroupVersionKind
	// Verbs are the supported verbs among get, patch, update and create, in the order of discovery documents.
	Verbs []string
	// Only restricts the subresource to one group-version; the zero value means all.
	Only schema.GroupVersion

	// Replicas maps an apiVersion to the dotted path of the field that a scale's spec.replicas sets. Versions
	// that it does not list have no scale. nil means spec.replicas in all versions.
	Replicas map[string]string

	// Preserves lists fields (dotted paths), besides the spec, that a write of the status does not change, and so
	// does not own.
	Preserves []string
	// Owns lists the only fields (dotted paths; * stands for any item) that a write of a part of the spec changes, and
	// so owns.
	Owns []string

	// Also lists group-versions of request bodies that are accepted besides that of Kind.
	Also []schema.GroupVersion
	// New returns an empty request body; set if Kind is.
	New func() runtime.Object
	// View returns the body of the response to a GET (scale).
	View func(obj Object) (runtime.Object, error)
	// Columns are the columns of a Table of views, and Row returns the cells; ages are relative to now.
	Columns []metav1.TableColumnDefinition
	Row     func(view runtime.Object, now time.Time) []any
	// Check rejects the request body of a create before the object is read; nil accepts all. Apply is only called with
	// a body that Check accepts. name is the name in the URL.
	Check func(name string, body runtime.Object) error
	// Apply applies a request body to obj (scale: update and patch; binding: create). The response to a
	// create is a Status. Apply may modify obj; an error that is a metav1 Status is sent unchanged.
	Apply func(obj Object, body runtime.Object) error
	// Message returns the message of the Status that a create responds with; nil means no message.
	Message func(body runtime.Object) string
	// Evicts turns a create into a delete of the object that needs the consent of its guards.
	Evicts *Eviction
	// Issues marks a create that issues a token for the object: the body is an authentication.k8s.io TokenRequest, and
	// the response is the same object with its status.
	Issues bool
	// Connect marks a subresource that another machine answers: a pod, or the kubelet of a node. nil for others.
	Connect *Connect
}

// Connect describes a subresource whose requests the server forwards to another machine (exec, proxy, log).
type Connect struct {
	// Proxy makes the subresource accept every method, and a path below it, which is the path at the other machine.
	Proxy bool
	// Text makes the response to a GET plain text (log). Admission plugins are not called for it, because it is a read.
	Text bool
}

// Connects returns the description of a subresource that another machine answers, or nil.
func (i *Info) Connects(subresource string) *Connect {
	if subresource == "" {
		return nil
	}
	if s := i.Subresource(subresource); s != nil {
		return s.Connect
	}
	return nil
}

// Author is the authenticated user who creates an object. It must not be modified.
type Author struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Act names a subresource of another kind. A create of a kind with Info.Acts calls the Apply function of that
// subresource.
type Act struct {
	Resource    schema.GroupResource
	Subresource string
}
