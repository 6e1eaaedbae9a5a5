// Package ownership keeps who set which field of an object: metadata.managedFields (KEP-555). An update or a patch makes
// its manager the owner of the fields that it changes; a server-side apply makes its manager an owner of all that the
// applied document says, takes away what the document said the last time and does not say now, and is refused where it
// would change a field of another manager.
//
// The rules are those of the libraries that kube-apiserver uses (k8s.io/apimachinery/pkg/util/managedfields and
// sigs.k8s.io/structured-merge-diff), fed with schemas of our own: those of built-in kinds are read from an embedded text
// (types.txt), those of custom resources come from their definitions. Nothing of a schema is read before the first write
// of its kind.
//
// The server calls Update and Apply before admission, and stores what they leave in the object.
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

// Owners keeps the ownership of one kind's objects, in all its versions. It is safe for concurrent use.
type Owners struct {
	form      form
	endpoints sync.Map // where to *endpoint
	types     sync.Map // apiVersion to *typed.ParseableType
	making    sync.Mutex
	repeats   repeats
	fields    knownFields
}

// where a write came in: the versions of a kind, and its subresources, own apart from each other.
type where struct{ apiVersion, sub string }

type endpoint struct {
	gvk     schema.GroupVersionKind
	library *managedfields.FieldManager
	filter  fieldpath.Filter // leaves the fields out that nobody owns by a write here; nil when there are none
	// kept is the field that a write of the object leaves as it was (status), if any.
	kept string
}

// form is what the versions of a kind look like.
type form interface {
	// kind is the name of the kind in a version; ok is false when there is no such version.
	kind(gv schema.GroupVersion) (name string, ok bool)
	// types are the schema of a version, and the name of its root there.
	types(gvk schema.GroupVersionKind) (typed.ParseableType, error)
	// kept are the fields (dotted paths) that a write through a subresource leaves as they were: nobody owns them by it.
	kept(sub string) []string
	// convert takes an object to a version, as a client that reads it in that version sees it.
	convert(obj runtime.Object, apiVersion string) (runtime.Object, error)
	// translate does so for an object without a Go type, and leaves nothing out.
	translate(u *unstructured.Unstructured, apiVersion string) (runtime.Object, error)
	// empty is an object of the version in which nothing is set.
	empty(gvk schema.GroupVersionKind) runtime.Object
}

// New keeps the ownership of a kind's objects.
func New(k kind.Kind) *Owners { return &Owners{form: kindForm{k}} }

// Update writes into obj who owns what after a write that made obj of live, which is nil when obj is new. Both may be in
// any version of the kind; apiVersion is that of the request, and sub its subresource. What obj says of ownership itself
// counts when it can be read and sub is empty: a list that is empty, or of one empty entry, makes nobody the owner.
//
// When the objects cannot be compared, ownership stays as it was: a write never fails on it.
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
	after, err := o.inVersion(e, obj)
	if err != nil {
		return err
	}
	if was, is, beside := e.besideOwnership(before, after); beside {
		if entries, plain := o.updatePlain(e, sub, was, is, manager); plain {
			SetEntries(obj, entries)
			return nil
		}
		before, after = was, is
	}
	if _, err = e.library.Update(before, after, manager); err != nil {
		return err
	}
	SetEntries(obj, Entries(after.(kind.Object)))
	return nil
}

// inVersion is a custom resource as a client that writes it at an endpoint sees it. Others the library converts itself.
func (o *Owners) inVersion(e *endpoint, obj runtime.Object) (runtime.Object, error) {
	if _, custom := obj.(*unstructured.Unstructured); !custom {
		return obj, nil
	}
	return o.form.convert(obj, e.gvk.GroupVersion().String())
}

// Apply merges an applied document, whose text is given too, into live, which is nil when there is no object yet, and says
// who owns what then. With force it takes fields of other managers. The result is in the version of the request, without
// defaults; or live itself when the document changes nothing; or, when it changes nothing but ownership, a copy of live. The
// document may be changed.
//
// Errors are metav1 Statuses where the client is to blame: a document of another kind (400), conflicts with other managers
// (409, each a cause); or say how the document does not fit the schema.
func (o *Owners) Apply(apiVersion, sub string, live kind.Object, document *unstructured.Unstructured, text []byte, manager string, force bool) (runtime.Object, error) {
	e, err := o.endpoint(apiVersion, sub)
	if err != nil {
		return nil, err
	}
	r, stored := repeatOf(apiVersion, sub, live, text, manager, force)
	if stored && o.repeats.has(r) {
		return live, nil
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

// Readable says why ownership as an object has it cannot be read, or nil.
func Readable(entries []metav1.ManagedFieldsEntry) error {
	return managedfields.ValidateManagedFields(entries)
}

// endpoint finds an endpoint, or makes it.
func (o *Owners) endpoint(apiVersion, sub string) (*endpoint, error) {
	key := where{apiVersion, sub}
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
	if kept := o.form.kept(sub); len(kept) > 0 {
		set := fieldpath.NewSet()
		for _, path := range kept {
			set.Insert(dotted(path))
		}
		e.filter = fieldpath.NewExcludeSetFilter(set)
		ignored = map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(apiVersion): e.filter}
		e.kept = kept[0]
	}
	a := adapter{o}
	if e.library, err = managedfields.NewDefaultCRDFieldManager(a, a, a, a, e.gvk, gv, sub, ignored); err != nil {
		return nil, err
	}
	first, _ := o.endpoints.LoadOrStore(key, e)
	return first.(*endpoint), nil
}

// typeOf is the type of a version, read when it is first asked for.
func (o *Owners) typeOf(gvk schema.GroupVersionKind) (*typed.ParseableType, error) {
	apiVersion := gvk.GroupVersion().String()
	if t, ok := o.types.Load(apiVersion); ok {
		return t.(*typed.ParseableType), nil
	}
	o.making.Lock()
	defer o.making.Unlock()
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
