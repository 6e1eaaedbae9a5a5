// Package ownership maintains the owners of an object's fields: metadata.managedFields (KEP-555). An update
// or a patch makes its manager the owner of the fields that it changes. A server-side apply makes its manager
// an owner of all fields in the applied document, removes fields that the manager's previous document
// contained and this one does not, and fails with a conflict if it would change a field of another manager.
//
// The rules are those of the libraries that kube-apiserver uses (k8s.io/apimachinery/pkg/util/managedfields
// and sigs.k8s.io/structured-merge-diff), with Bowline's own schemas: those of built-in kinds are parsed from
// an embedded text (types.txt), those of custom resources come from their definitions. A schema is parsed for
// the first write of its kind.
//
// The server calls Update and Apply before admission, and stores the resulting managedFields.
package ownership

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Owners maintains the ownership of one kind's objects, in all versions. It is safe for concurrent use.
type Owners struct {
	form      form
	endpoints sync.Map // keys are endpointKey, values *endpoint
	types     sync.Map // keys are apiVersions, values *typed.ParseableType
	creating  sync.Mutex
	repeats   repeats
	fields    knownFields
}

// endpointKey identifies the endpoint of a write: a version of the kind and a subresource.
type endpointKey struct{ apiVersion, sub string }

type endpoint struct {
	gvk     schema.GroupVersionKind
	library *managedfields.FieldManager
	filter  fieldpath.Filter // excludes the fields that a write here does not own; may be nil
	// preserved is the top-level field that a write here does not change (such as status), if any.
	preserved string
	// kept are all fields that a write here does not change; for a write of the object, they are top-level fields.
	kept []string
}

// form describes the versions of a kind.
type form interface {
	// kind returns the name of the kind in a version; ok is false if there is no such version.
	kind(gv schema.GroupVersion) (name string, ok bool)
	// types returns the type of a version, with its schema.
	types(gvk schema.GroupVersionKind) (typed.ParseableType, error)
	// preservedFields returns the fields (dotted paths) that a write through a subresource does not change and does not
	// own.
	preservedFields(sub string) []string
	// ownedFields returns the only fields (dotted paths, * for any item) that a write through a subresource owns; nil
	// if there is no such list.
	ownedFields(sub string) []string
	// convert converts an object to a version, in the form in which a client reads it.
	convert(obj runtime.Object, apiVersion string) (runtime.Object, error)
	// translate converts an object without a Go type, retaining all fields.
	translate(u *unstructured.Unstructured, apiVersion string) (runtime.Object, error)
	// empty returns an object of the version in which nothing is set.
	empty(gvk schema.GroupVersionKind) runtime.Object
}

// New returns the Owners of a kind's objects.
func New(k kind.Kind) *Owners { return &Owners{form: kindForm{k}} }

// Update sets obj's managedFields after a write that changes live to obj; live is nil for a create. Both may
// have any version of the kind; apiVersion is that of the request, and sub its subresource. If sub is empty,
// valid managedFields in obj replace those of live: a list that is empty, or has one empty entry, removes all
// owners. Update does not modify live.
//
// If the objects cannot be compared, or their lists are too long to be compared in a second, the managedFields of live
// are retained: ownership never makes a write fail.
func (o *Owners) Update(apiVersion, sub string, live, obj kind.Object, manager string) {
	if live == nil && sub == "" && o.create(apiVersion, obj, manager) {
		return
	}
	if err := o.update(apiVersion, sub, live, obj, manager); err == nil {
		return
	}
	var was []metav1.ManagedFieldsEntry
	if live != nil {
		was = Entries(live)
	}
	SetEntries(obj, was)
}

func (o *Owners) update(apiVersion, sub string, live, obj kind.Object, manager string) error {
	e, err := o.endpoint(apiVersion, sub)
	if err != nil {
		return err
	}
	if err := o.checkLists(e.gvk, live, obj); err != nil {
		return err
	}
	live = o.withoutRemoved(e, live)
	if was, is, structs := o.asStructs(e, live, obj); structs {
		if entries, plain := o.updatePlain(e, sub, was, is, manager); plain {
			SetEntries(obj, entries)
			return nil
		}
	}
	var before runtime.Object = live
	if live == nil {
		before = o.form.empty(e.gvk)
	}
	if before, err = o.inVersion(e, before); err != nil {
		return err
	}
	after, err := o.inVersion(e, o.withoutRemoved(e, obj))
	if err != nil {
		return err
	}
	if was, is, detached := e.detach(before, after); detached {
		if entries, plain := o.updatePlain(e, sub, was, is, manager); plain {
			SetEntries(obj, entries)
			return nil
		}
	}
	if _, err = e.library.Update(before, after, manager); err != nil {
		return err
	}
	SetEntries(obj, Entries(after.(kind.Object)))
	return nil
}

// inVersion converts a custom resource to the version of an endpoint. The library itself converts other
// objects.
func (o *Owners) inVersion(e *endpoint, obj runtime.Object) (runtime.Object, error) {
	if _, custom := obj.(*unstructured.Unstructured); !custom {
		return obj, nil
	}
	return o.form.convert(obj, e.gvk.GroupVersion().String())
}

// Apply merges an applied document into live, which is nil for a create, and sets the managedFields of the
// result. text is the encoding of the document. With force, it takes over fields of other managers. The
// result has the version of the request, without defaults; if the document changes nothing, it is live
// itself; if it changes only managedFields, a copy of live. Apply takes ownership of document and does not
// modify live.
//
// Errors of the client are metav1 Statuses: a document of another kind (400), conflicts with other managers (409, with
// one cause each), and lists that are too long (413). Other errors report that the document does not fit the schema.
func (o *Owners) Apply(apiVersion, sub string, live kind.Object, document *unstructured.Unstructured, text []byte,
	manager string, force bool) (runtime.Object, error) {
	e, err := o.endpoint(apiVersion, sub)
	if err != nil {
		return nil, err
	}
	r, stored := repeatOf(apiVersion, sub, live, text, manager, force)
	if stored && o.repeats.has(r) {
		return live, nil
	}
	if current := o.withoutRemoved(e, live); current != live {
		live, stored = current, false // managedFields have changed, so even an apply without a change is written
	}
	if err := o.checkLists(e.gvk, live, document); err != nil {
		return nil, err
	}
	after, plain := o.applyPlain(e, sub, live, document, manager)
	if plain {
		if stored && after == live {
			o.repeats.add(r)
		}
		return after, nil
	}
	var before runtime.Object = live
	if live == nil {
		before = o.form.empty(e.gvk)
	}
	if before, err = o.inVersion(e, before); err != nil {
		return nil, err
	}
	after, err = e.library.Apply(before, document, manager, force)
	if err == nil && stored && equality.Semantic.DeepEqual(after, before) {
		o.repeats.add(r)
		return live, nil
	}
	return after, err
}

// ValidateEntries returns an error if managedFields are invalid.
func ValidateEntries(entries []metav1.ManagedFieldsEntry) error {
	return managedfields.ValidateManagedFields(entries)
}

// endpoint returns an endpoint, creating it on first use.
func (o *Owners) endpoint(apiVersion, sub string) (*endpoint, error) {
	key := endpointKey{apiVersion, sub}
	if e, made := o.endpoints.Load(key); made {
		return e.(*endpoint), nil
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	name, ok := o.form.kind(gv)
	if !ok {
		return nil, fmt.Errorf("ownership in %s: the kind has no such version", apiVersion)
	}
	e := &endpoint{gvk: gv.WithKind(name)}
	var ignored map[fieldpath.APIVersion]fieldpath.Filter
	if owned := o.form.ownedFields(sub); len(owned) > 0 {
		matchers := make([]*fieldpath.SetMatcher, len(owned))
		for i, path := range owned {
			matchers[i] = prefix(path)
		}
		e.filter = fieldpath.NewIncludeMatcherFilter(matchers...)
	} else if kept := o.form.preservedFields(sub); len(kept) > 0 {
		set := fieldpath.NewSet()
		for _, path := range kept {
			set.Insert(dotted(path))
		}
		e.filter = fieldpath.NewExcludeSetFilter(set)
		e.preserved, e.kept = kept[0], kept
	}
	if e.filter != nil {
		ignored = map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(apiVersion): e.filter}
	}
	a := adapter{o}
	if e.library, err = managedfields.NewDefaultCRDFieldManager(a, a, a, a, e.gvk, gv, sub, ignored); err != nil {
		return nil, err
	}
	first, _ := o.endpoints.LoadOrStore(key, e)
	return first.(*endpoint), nil
}

// typeOf returns the type of a version, parsing it on first use.
func (o *Owners) typeOf(gvk schema.GroupVersionKind) (*typed.ParseableType, error) {
	apiVersion := gvk.GroupVersion().String()
	if t, ok := o.types.Load(apiVersion); ok {
		return t.(*typed.ParseableType), nil
	}
	o.creating.Lock()
	defer o.creating.Unlock()
	if t, ok := o.types.Load(apiVersion); ok {
		return t.(*typed.ParseableType), nil
	}
	t, err := o.form.types(gvk)
	if err != nil {
		return nil, err
	}
	o.types.Store(apiVersion, &t)
	return &t, nil
}
