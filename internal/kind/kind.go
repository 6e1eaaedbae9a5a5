// Package kind says what a kind of object is: the one door through which the server reaches everything that differs
// between a Pod and a Network. A Kind has two implementations. A typed one wraps a Go struct and serves all built-in
// kinds (package kind/builtin and its folders, one per API group); a structural one is made at run time from a
// CustomResourceDefinition (package kind/structural). The request pipeline knows no kind by name.
//
// A kind is data and rules. Data is Info: names, scope, endpoints, verbs, subresources. Rules are short, ordinary Go, and
// only there when the kind has any. A Registry holds the kinds of one server.
package kind

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/object"
)

// Object is a decoded object in the version that defaults, admission and validation work on: its kind's hub version, or,
// of a Versioned kind, the version of the request.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind is what the pipeline asks of a kind. All methods are safe for concurrent use; those that take an Object may
// change only that one (obj), never old.
type Kind interface {
	// Codec reads and writes what is stored. Decode always gives an Object. A Versioned kind has another for its objects.
	object.Codec

	// Info is the kind's data. The caller must not change it.
	Info() *Info

	// New is an empty object of the version that the rules work in.
	New() Object

	// DecodeRequest reads what a client sent, in the form that it named: into the version of that form, with that
	// version's defaults, then to the hub, unless the kind is Versioned. Fields that the schema does not know, and fields
	// that stand twice, are left out and named in strict (as `unknown field "spec.x"`); err is what cannot be read at all.
	// With lenient the body is not searched for them. Until it is encoded obj may carry the apiVersion that it was sent in.
	DecodeRequest(form object.Form, body []byte, lenient bool) (obj Object, strict []string, err error)

	// Prepare makes obj what this write may make of old: it puts back what the write has no say over, and counts the
	// generation. old is nil for a create; sub is the subresource that is written, or empty.
	Prepare(obj, old Object, sub string)

	// Validate says what is wrong with obj, on create (old is nil) or update, through a subresource or not. The object's
	// metadata is checked by the pipeline. It must be quick to say that nothing is wrong, but for rules that come with a
	// definition: they end with ctx, and what is wrong as it was before goes to ctx as a warning (package warning of
	// k8s.io/apiserver).
	Validate(ctx context.Context, obj, old Object, sub string) field.ErrorList

	// Warnings are texts for the writer's Warning headers; usually none. old and sub are as for Validate.
	Warnings(obj, old Object, sub string) []string

	// Fields are the values of the selectable fields, without metadata.name and metadata.namespace; nil for none.
	Fields(obj Object) map[string]string

	// Columns are what a Table of this kind shows in a version.
	Columns(apiVersion string) []metav1.TableColumnDefinition

	// Row is the cells of one object for those columns; ages are counted up to now.
	Row(obj Object, apiVersion string, now time.Time) ([]any, error)

	// Convert takes an object of the kind, in whatever version it is, to another version of the kind. It changes nothing of
	// obj, and what it returns shares nothing with it that a caller may change; obj itself comes back when it is in that
	// version already.
	Convert(obj runtime.Object, apiVersion string) (runtime.Object, error)

	// Prototype is an empty struct whose tags direct a strategic merge patch in a version, or nil when the kind takes none.
	Prototype(apiVersion string) runtime.Object
}

// Info is a kind as data.
type Info struct {
	// Kind, Plural and Singular are the names, as in ConfigMap, configmaps and configmap. List is the kind of a list;
	// empty means Kind and "List".
	Kind, List, Plural, Singular string
	// ShortNames are those that kubectl takes for the resource, and Categories the sets that it asks for together (all).
	ShortNames, Categories []string
	// Namespaced says that each object is in a namespace; other kinds are cluster-scoped.
	Namespaced bool

	// Endpoints are the group-versions that serve the kind. The first is the hub: objects are stored in it.
	Endpoints []Endpoint

	// Verbs is nil for all of create, delete, deletecollection, get, list, patch, update and watch.
	Verbs []string

	// Subresources are served below each object, under every endpoint unless they say otherwise.
	Subresources []Subresource

	// Protobuf says that objects have a protobuf form beside JSON: those of typed kinds have.
	Protobuf bool

	// Graceful says that a delete gives the object time to end (pods): the pipeline asks the kind's GracePeriod.
	Graceful bool

	// AnswersDeleted says that a delete answers with the object as it was; others answer with a Status.
	AnswersDeleted bool

	// CreateOnUpdate says that a PUT of an object that does not exist creates it.
	CreateOnUpdate bool

	// Claims says that the kind's objects own unique values: see Claimer.
	Claims bool

	// ConditionalUpdate says that a PUT must name the resourceVersion that it replaces; of other kinds it may leave it
	// out, and replaces whatever is there.
	ConditionalUpdate bool

	// Lifetime is how long after its last write an object goes by itself; 0 is for ever.
	Lifetime time.Duration

	// Generation says that metadata.generation counts the changes of what the user declares.
	Generation bool

	// ValidName checks metadata.name and, with prefix, metadata.generateName; nil means a DNS subdomain.
	ValidName func(name string, prefix bool) []string
}

// GroupResource is where objects of the kind are stored.
func (i *Info) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: i.Endpoints[0].Group, Resource: i.Plural}
}

// ListKind is the kind of a list of objects.
func (i *Info) ListKind() string {
	if i.List != "" {
		return i.List
	}
	return i.Kind + "List"
}

// Endpoint finds the endpoint of a group-version, or nil.
func (i *Info) Endpoint(gv schema.GroupVersion) *Endpoint {
	for n := range i.Endpoints {
		if e := &i.Endpoints[n]; e.Group == gv.Group && e.Version == gv.Version {
			return e
		}
	}
	return nil
}

// SubresourcesOf are those that a group-version has. The caller must not change them.
func (i *Info) SubresourcesOf(gv schema.GroupVersion) []Subresource {
	if !slices.ContainsFunc(i.Subresources, func(s Subresource) bool { return !s.ServedIn(gv) }) {
		return i.Subresources
	}
	return slices.DeleteFunc(slices.Clone(i.Subresources), func(s Subresource) bool { return !s.ServedIn(gv) })
}

// ServedIn says whether a group-version has the subresource.
func (s *Subresource) ServedIn(gv schema.GroupVersion) bool { return s.Only.Empty() || s.Only == gv }

// Subresource finds a subresource by name, or nil.
func (i *Info) Subresource(name string) *Subresource {
	for n := range i.Subresources {
		if i.Subresources[n].Name == name {
			return &i.Subresources[n]
		}
	}
	return nil
}

// allVerbs are what a resource serves unless its kind says otherwise, in discovery's order.
var allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// ServedVerbs are those of the kind's resource. The caller must not change them.
func (i *Info) ServedVerbs() []string {
	if i.Verbs == nil {
		return allVerbs
	}
	return i.Verbs
}

// HasVerb says whether the kind's resource serves a verb.
func (i *Info) HasVerb(verb string) bool { return slices.Contains(i.ServedVerbs(), verb) }

// Endpoint is one group-version under which a kind is served.
type Endpoint struct {
	Group, Version string
	// Selectable are the field selectors that it takes beside metadata.name and metadata.namespace, each with the name
	// under which Fields has the value (the same when empty).
	Selectable map[string]string
	// Deprecated is the warning that goes with every answer of the endpoint; empty for none.
	Deprecated string
	// Unserved says that objects may be stored in the version but requests for it are not answered.
	Unserved bool
	// Orphans says that a delete leaves the object's dependents to themselves when it says nothing of them, as that of old
	// versions did. OrphanWarning goes with the answer to such a delete; empty for none.
	Orphans       bool
	OrphanWarning string
}

// GroupVersion is the one that the endpoint serves.
func (e *Endpoint) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: e.Group, Version: e.Version}
}

// APIVersion is the group-version as objects carry it.
func (e *Endpoint) APIVersion() string { return e.GroupVersion().String() }

// Subresource is a part of an object, or an act on it, with a path of its own below the object's.
type Subresource struct {
	// Name is that in the path: status, scale, binding.
	Name string
	// Kind is what its requests and answers carry; the zero value means the object itself (status, finalize), whose
	// Prepare decides what the write may change.
	Kind schema.GroupVersionKind
	// Verbs are what it serves, of get, patch, update and create, in discovery's order.
	Verbs []string
	// Only is the one group-version that has it; the zero value is all of them.
	Only schema.GroupVersion

	// Replicas says, of a scale, which field (a dotted path) the Scale's spec.replicas is in each apiVersion; versions that
	// are left out have no scale. nil means spec.replicas in all of them.
	Replicas map[string]string

	// Keeps are fields (dotted paths) that a write of the status leaves as they were, beside the spec: nobody becomes
	// their owner by it.
	Keeps []string

	// New is an empty body, for a subresource with a Kind of its own.
	New func() runtime.Object
	// View makes what a GET shows (scale).
	View func(obj Object) (runtime.Object, error)
	// Columns are what a Table shows of a view, and Row its cells; ages are counted up to now.
	Columns []metav1.TableColumnDefinition
	Row     func(view runtime.Object, now time.Time) []any
	// Apply writes a body into obj (scale: update and patch; binding: create). The answer to a create is a Status.
	// obj may be changed; an error that is a metav1 Status is answered as it is.
	Apply func(obj Object, body runtime.Object) error
	// Done is what the Status that answers a create says; nil says nothing.
	Done func(body runtime.Object) string
	// Evicts makes of a create a delete of the object, if those agree who guard it.
	Evicts *Eviction
	// Text makes the plain text that a GET answers with (log); without any, the answer is 204.
	Text func(obj Object) (string, error)
}

// GracePeriod is implemented by kinds whose Info is Graceful.
type GracePeriod interface {
	// GracePeriod is how many seconds a delete leaves the object when the client asked for asked (nil: it did not say).
	GracePeriod(obj Object, asked *int64) int64
}

// A Claim is a value that at most one object of a server may own, such as an address: it is committed with its owner,
// so that no two can have it.
type Claim struct {
	// Space is what the value is unique in, such as "serviceips".
	Space string
	Value string
}

// Claimer is implemented by kinds whose Info has Claims: their objects own values that no other object may own.
type Claimer interface {
	// Assign chooses the values that obj leaves to the server (old is nil on create). taken says whether a claim is
	// another object's. Assign is called again, on a fresh copy of the request, when a choice was lost to another writer.
	Assign(obj, old Object, taken func(Claim) bool) field.ErrorList
	// Claims are what obj owns.
	Claims(obj Object) []Claim
}
