// Package structural implements kind.Kind for a CustomResourceDefinition at run time: decoding with pruning
// and defaults, validation by the OpenAPI schema, printer columns, selectable fields, and the status and
// scale subresources. Its objects are *unstructured.Unstructured.
//
// The package does not validate definitions or check whether their names are free
// (internal/kind/builtin/apiextensions does), and does not decide when a kind is served (the server does,
// which calls New whenever a definition is established or changes). New compiles nothing: the schema of a
// version remains JSON until the first object of that version is decoded.
//
// Schemas and rules are processed by the libraries of k8s.io/apiextensions-apiserver. As there, rules work on
// an object in the version of the request. Each version has its own Kind; the versions share a definition.
package structural

import (
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kind is one version of a custom kind. It is immutable and safe for concurrent use; a change of the
// definition creates new kinds.
type Kind struct {
	*definition
	info    kind.Info
	version *definedVersion
	scale   *apiextensionsv1.CustomResourceSubresourceScale
	fields  []selectable
}

var _ kind.Custom = (*Kind)(nil)

// New returns the kind of a definition in its storage version; In returns the other versions. The names are
// those accepted in the status or, if there are none yet, those in the spec. New does not retain or modify
// crd. cache bounds the memory for cached encodings of all kinds of a server. If converter is nil, versions
// differ only in their apiVersion (conversion strategy None). New returns an error if the definition has no
// storage version.
func New(cache *object.Cache, crd *apiextensionsv1.CustomResourceDefinition, converter Converter) (*Kind, error) {
	d, err := newDefinition(cache, crd, converter)
	if err != nil {
		return nil, err
	}
	return d.kinds[0], nil
}

// APIVersion implements kind.Custom.
func (k *Kind) APIVersion() string { return k.version.apiVersion }

// In implements kind.Custom.
func (k *Kind) In(apiVersion string) kind.Kind {
	if other := k.kind(apiVersion); other != nil {
		return other
	}
	return nil
}

// ToStorage implements kind.Custom.
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

// Succeed makes k the successor of old, the kind of an earlier state of the same definition: whoever holds
// old as a codec then decodes and encodes stored objects with k's versions.
func (k *Kind) Succeed(old *Kind) { k.succeed(old.definition) }

// Share returns a kind for another server that is equal to k and shares its compiled schemas. It returns nil
// if the versions have a converter, which belongs to one server.
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

// GracePeriod implements kind.Kind: a delete is immediate.
func (k *Kind) GracePeriod(kind.Object, *int64) int64 { return 0 }

// BeginDelete implements kind.Kind: the removal of objects is not delayed.
func (k *Kind) BeginDelete(kind.Object) (keep bool) { return false }

// Finished implements kind.Kind.
func (k *Kind) Finished(kind.Object) bool { return true }

// Assign implements kind.Kind: custom resources own no unique values.
func (k *Kind) Assign(kind.Object, kind.Object, kind.Values) (field.ErrorList, error) {
	return nil, nil
}

// Claims implements kind.Kind.
func (k *Kind) Claims(kind.Object) []kind.Claim { return nil }

// Record implements kind.Kind.
func (k *Kind) Record(kind.Claim, kind.Object) kind.Object { return nil }

// Prototype implements kind.Kind: custom resources do not support strategic merge patches.
func (k *Kind) Prototype(string) runtime.Object { return nil }

// Columns implements kind.Kind.
func (k *Kind) Columns(string) []metav1.TableColumnDefinition { return k.version.printer().headers }

// Row implements kind.Kind.
func (k *Kind) Row(obj kind.Object, _ string, now time.Time) ([]any, error) {
	return k.version.printer().row(obj.(*unstructured.Unstructured), now)
}
