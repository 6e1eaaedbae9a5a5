// Package structural makes a kind.Kind from a CustomResourceDefinition at run time: decoding with pruning and defaults,
// validation by the OpenAPI schema, printer columns, selectable fields, the status and scale subresources. Its objects
// are *unstructured.Unstructured.
//
// The package does not decide whether a definition is valid or its names are free (kind/builtin/apiextensions does) nor
// when a kind is served (the server does, which calls New whenever a definition is established or changes). Making a
// kind compiles nothing: the schema of a version is kept as bytes until the first object of that version comes.
//
// The work on schemas and their rules is done by the libraries of k8s.io/apiextensions-apiserver. As there, rules work on
// an object in the version of the request, and there is a Kind for each version; what they share is the definition.
package structural

import (
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/object"
)

// Kind is a kind of custom resource as one of its versions serves it. It is immutable and safe for concurrent use; a
// changed definition makes new kinds.
type Kind struct {
	*definition
	info    kind.Info
	version *definedVersion
	scale   *apiextensionsv1.CustomResourceSubresourceScale
	fields  []selectable
}

var (
	_ kind.Kind      = (*Kind)(nil)
	_ kind.Ender     = (*Kind)(nil)
	_ kind.Versioned = (*Kind)(nil)
	_ kind.Schematic = (*Kind)(nil)
)

// New makes the kind that a definition describes, as its storage version serves it; In gives the other versions. The names
// are those that the definition's status has accepted, or, as long as it has none, those that its spec asks for. The
// definition is not kept and not changed. The cache bounds the second encodings of all kinds of a server. converter may be
// nil: then versions differ in their apiVersion alone (conversion strategy None).
func New(cache *object.Cache, crd *apiextensionsv1.CustomResourceDefinition, converter Converter) (*Kind, error) {
	d, err := newDefinition(cache, crd, converter)
	if err != nil {
		return nil, err
	}
	return d.kinds[0], nil
}

// APIVersion implements kind.Versioned.
func (k *Kind) APIVersion() string { return k.version.apiVersion }

// In implements kind.Versioned.
func (k *Kind) In(apiVersion string) kind.Kind {
	if other := k.kind(apiVersion); other != nil {
		return other
	}
	return nil
}

// ToStorage implements kind.Versioned.
func (k *Kind) ToStorage(obj kind.Object) (kind.Kind, kind.Object, error) {
	stored, u := k.kinds[0], obj.(*unstructured.Unstructured)
	if u.GetAPIVersion() == stored.version.apiVersion {
		return stored, obj, nil
	}
	converted, err := k.convert([]*unstructured.Unstructured{u}, stored.version, true)
	if err != nil {
		return nil, nil, err
	}
	return stored, converted[0], k.setDefaults(converted[0], stored.version)
}

// Codec implements kind.Versioned.
func (k *Kind) Codec() object.Codec { return k.latest() }

// Succeed makes k what the definition of an older kind, of an earlier state of it, has become: stored objects of the old
// kind are read and written as k says, in the versions that k has.
func (k *Kind) Succeed(old *Kind) { k.succeed(old.definition) }

// Share is the kind that New would make of the same state of the same definition, for another server: what was compiled, or
// will be, is common to both. It is nil for one whose versions convert by more than their names, since a converter is a
// server's own.
func (k *Kind) Share(cache *object.Cache) *Kind {
	if k.converter != nil {
		return nil
	}
	d := &definition{
		cache: cache, preserve: k.preserve, conversion: k.conversion, stamp: k.stamp, ended: make(chan struct{}),
		uid: k.uid, generation: k.generation, terminating: k.terminating, names: k.names,
	}
	d.end = sync.OnceFunc(d.close)
	for _, other := range k.kinds {
		own := *other
		own.definition = d
		d.kinds = append(d.kinds, &own)
	}
	return d.kinds[0]
}

// Info implements kind.Kind.
func (k *Kind) Info() *kind.Info { return &k.info }

// New implements kind.Kind.
func (k *Kind) New() kind.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(k.version.apiVersion)
	u.SetKind(k.info.Kind)
	return u
}

// Prototype implements kind.Kind: a custom resource takes no strategic merge patch.
func (k *Kind) Prototype(string) runtime.Object { return nil }

// Columns implements kind.Kind.
func (k *Kind) Columns(string) []metav1.TableColumnDefinition { return k.version.printer().headers }

// Row implements kind.Kind.
func (k *Kind) Row(obj kind.Object, _ string, now time.Time) ([]any, error) {
	return k.version.printer().row(obj.(*unstructured.Unstructured), now)
}
