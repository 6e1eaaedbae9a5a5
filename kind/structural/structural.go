// Package structural makes a kind.Kind from a CustomResourceDefinition at run time: decoding with pruning and defaults,
// validation by the OpenAPI schema, printer columns, selectable fields, the status and scale subresources. Its objects
// are *unstructured.Unstructured.
//
// The package does not decide whether a definition is valid or its names are free (kind/builtin/apiextensions does) nor
// when a kind is served (the server does, which calls New whenever a definition is established or changes). Making a
// kind compiles nothing: the schema of a version is kept as bytes until the first object of that version comes.
//
// The work on schemas and their rules is done by the libraries of k8s.io/apiextensions-apiserver. Versions convert by
// their apiVersion alone (conversion strategy None).
package structural

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/object"
)

// Kind is a kind of custom resource. It is immutable but for its successor: a changed definition makes a new one. It is
// safe for concurrent use.
type Kind struct {
	info  kind.Info
	cache *object.Cache
	// versions stand in the order of info.Endpoints: the first is the one that objects are stored in.
	versions []*definedVersion
	// preserve is spec.preserveUnknownFields: nothing is pruned. Only definitions from v1beta1 have it.
	preserve bool
	scale    *apiextensionsv1.CustomResourceSubresourceScale
	fields   []selectable

	// successor is what the definition made next, for the objects that this kind wrote and will go on to read.
	successor atomic.Pointer[Kind]
	ended     chan struct{}
	end       func()

	// uid, generation and names are those of the definition.
	uid        types.UID
	generation int64
	names      apiextensionsv1.CustomResourceDefinitionNames
}

var (
	_ kind.Kind  = (*Kind)(nil)
	_ kind.Ender = (*Kind)(nil)
)

// definedVersion is one version of a definition.
type definedVersion struct {
	name, apiVersion string
	// raw is the schema as JSON, nil when the version has none: small, for definitions whose objects never come.
	raw     []byte
	columns []apiextensionsv1.CustomResourceColumnDefinition

	compiled func() (*compiled, error)
	printer  func() *printer
}

// New makes the kind that a definition describes. The names are those that the definition's status has accepted, or, as
// long as it has none, those that its spec asks for. The definition is not kept and not changed. The cache bounds the
// second encodings of all kinds of a server.
func New(cache *object.Cache, crd *apiextensionsv1.CustomResourceDefinition) (*Kind, error) {
	ordered, err := storageFirst(crd)
	if err != nil {
		return nil, err
	}
	k := &Kind{cache: cache, preserve: crd.Spec.PreserveUnknownFields, ended: make(chan struct{})}
	k.end = sync.OnceFunc(func() { close(k.ended) })
	k.uid, k.generation, k.names = crd.UID, crd.Generation, *crd.Status.AcceptedNames.DeepCopy()
	k.info = describe(crd)
	for _, v := range ordered {
		defined, err := k.define(crd.Spec.Group, v)
		if err != nil {
			return nil, fmt.Errorf("customresourcedefinition %s, version %s: %w", crd.Name, v.Name, err)
		}
		k.versions = append(k.versions, defined)
		k.info.Endpoints = append(k.info.Endpoints, endpoint(crd, v))
		k.fields = appendSelectable(k.fields, v.SelectableFields)
	}
	if s := ordered[0].Subresources; s != nil {
		k.addSubresources(s)
	}
	return k, nil
}

// Succeed makes k the successor of a kind that an earlier state of its definition made: stored objects of the old kind
// are read and written as k says, in the versions that k has.
func (k *Kind) Succeed(old *Kind) { old.successor.Store(k) }

// End says that the kind is not served any longer. It may be called again.
func (k *Kind) End() { k.end() }

// Ended implements kind.Ender.
func (k *Kind) Ended() <-chan struct{} { return k.ended }

// MadeOf says whether a definition, as it stands now, would make the same kind again: of its status, only the names
// matter.
func (k *Kind) MadeOf(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return k.uid == crd.UID && k.generation == crd.Generation && equality.Semantic.DeepEqual(k.names, crd.Status.AcceptedNames)
}

// latest is the last successor of a kind, or the kind itself.
func (k *Kind) latest() *Kind {
	last := k
	for next := k.successor.Load(); next != nil; next = last.successor.Load() {
		last = next
	}
	if last != k {
		k.successor.Store(last) // the way is short the next time
	}
	return last
}

// storageFirst are the versions of a definition, the stored one before the others.
func storageFirst(crd *apiextensionsv1.CustomResourceDefinition) ([]*apiextensionsv1.CustomResourceDefinitionVersion, error) {
	var ordered []*apiextensionsv1.CustomResourceDefinitionVersion
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Storage {
			ordered = slices.Insert(ordered, 0, v)
			continue
		}
		ordered = append(ordered, v)
	}
	if len(ordered) == 0 || !ordered[0].Storage {
		return nil, fmt.Errorf("customresourcedefinition %s has no storage version: set storage in one of spec.versions", crd.Name)
	}
	return ordered, nil
}

// verbs are what a custom resource serves, in the order in which Kubernetes' discovery names them.
var verbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}

// describe is the kind as data, but for its endpoints and subresources.
func describe(crd *apiextensionsv1.CustomResourceDefinition) kind.Info {
	names := crd.Status.AcceptedNames
	if names.Plural == "" || names.Kind == "" {
		names = crd.Spec.Names
	}
	singular := names.Singular
	if singular == "" {
		singular = strings.ToLower(names.Kind)
	}
	return kind.Info{
		Kind:       names.Kind,
		List:       names.ListKind,
		Plural:     names.Plural,
		Singular:   singular,
		ShortNames: slices.Clone(names.ShortNames),
		Categories: slices.Clone(names.Categories),
		Namespaced: crd.Spec.Scope != apiextensionsv1.ClusterScoped,
		Verbs:      verbs,
		Generation: true, ConditionalUpdate: true,
	}
}

// endpoint is a version as the registry knows it.
func endpoint(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) kind.Endpoint {
	e := kind.Endpoint{Group: crd.Spec.Group, Version: v.Name, Unserved: !v.Served}
	for _, f := range v.SelectableFields {
		if e.Selectable == nil {
			e.Selectable = map[string]string{}
		}
		e.Selectable[strings.TrimPrefix(f.JSONPath, ".")] = ""
	}
	switch {
	case !v.Deprecated:
	case v.DeprecationWarning != nil:
		e.Deprecated = *v.DeprecationWarning
	default:
		e.Deprecated = deprecation(crd, v.Name)
	}
	return e
}

// deprecation is the warning of a deprecated version that words none itself: it names the best version to go to.
func deprecation(crd *apiextensionsv1.CustomResourceDefinition, old string) string {
	best := ""
	for _, v := range crd.Spec.Versions {
		better := best == "" || version.CompareKubeAwareVersionStrings(v.Name, best) > 0
		if v.Served && !v.Deprecated && better && version.CompareKubeAwareVersionStrings(v.Name, old) > 0 {
			best = v.Name
		}
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", crd.Spec.Group, old, crd.Spec.Names.Kind)
	if best != "" {
		text += fmt.Sprintf("; use %s/%s %s", crd.Spec.Group, best, crd.Spec.Names.Kind)
	}
	return text
}

// define takes what the kind needs of a version out of its definition.
func (k *Kind) define(group string, v *apiextensionsv1.CustomResourceDefinitionVersion) (*definedVersion, error) {
	defined := &definedVersion{
		name:       v.Name,
		apiVersion: group + "/" + v.Name,
		columns:    slices.Clone(v.AdditionalPrinterColumns),
	}
	if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
		raw, err := json.Marshal(v.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, err
		}
		defined.raw = raw
	}
	defined.compiled = sync.OnceValues(func() (*compiled, error) { return k.compile(defined) })
	defined.printer = sync.OnceValue(defined.newPrinter)
	return defined, nil
}

// addSubresources declares the subresources of the storage version, which are served under all versions.
func (k *Kind) addSubresources(s *apiextensionsv1.CustomResourceSubresources) {
	if s.Status != nil {
		k.info.Subresources = append(k.info.Subresources, kind.Subresource{Name: "status", Verbs: []string{"get", "patch", "update"}})
	}
	if s.Scale != nil {
		k.scale = s.Scale.DeepCopy()
		k.info.Subresources = append(k.info.Subresources, scaleSubresource(k.scale))
	}
}

// Info implements kind.Kind.
func (k *Kind) Info() *kind.Info { return &k.info }

// Cache implements object.Codec.
func (k *Kind) Cache() *object.Cache { return k.cache }

// New implements kind.Kind.
func (k *Kind) New() kind.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(k.hub().apiVersion)
	u.SetKind(k.info.Kind)
	return u
}

// Prototype implements kind.Kind: a custom resource takes no strategic merge patch.
func (k *Kind) Prototype(string) runtime.Object { return nil }

// Schema is the OpenAPI v3 schema of a version, for documents about the API; nil when the version is not defined or has
// none. It is read afresh for each call and belongs to the caller.
func (k *Kind) Schema(version string) *apiextensionsv1.JSONSchemaProps {
	for _, v := range k.versions {
		if v.name == version {
			props, _ := v.props()
			return props
		}
	}
	return nil
}

func (k *Kind) hub() *definedVersion { return k.versions[0] }

// version finds a version by apiVersion, or nil.
func (k *Kind) version(apiVersion string) *definedVersion {
	for _, v := range k.versions {
		if v.apiVersion == apiVersion {
			return v
		}
	}
	return nil
}

// Columns implements kind.Kind.
func (k *Kind) Columns(apiVersion string) []metav1.TableColumnDefinition {
	return k.printerFor(apiVersion).headers
}

// Row implements kind.Kind.
func (k *Kind) Row(obj kind.Object, apiVersion string, now time.Time) ([]any, error) {
	return k.printerFor(apiVersion).row(obj.(*unstructured.Unstructured), now)
}

func (k *Kind) printerFor(apiVersion string) *printer {
	if v := k.version(apiVersion); v != nil {
		return v.printer()
	}
	return k.hub().printer()
}
