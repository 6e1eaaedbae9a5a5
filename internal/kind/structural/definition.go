package structural

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// definition is the part that the versions of a custom kind share. It is the codec of their objects. It is
// immutable except for its successor: a change of the CustomResourceDefinition creates a new definition.
type definition struct {
	cache     *object.Cache
	encodings encodings
	// kinds has one Kind per version, the storage version first.
	kinds []*Kind
	// preserve is spec.preserveUnknownFields, which disables pruning. Only definitions from v1beta1 have it.
	preserve bool
	// converter is nil for the conversion strategy None. conversion is the definition's conversion field.
	converter  Converter
	conversion *apiextensionsv1.CustomResourceConversion

	// stamp identifies what its kinds encode: see stampOf.
	stamp object.Stamp
	// successor is the next state of the definition. Readers that use this definition as their codec are
	// redirected to it.
	successor atomic.Pointer[definition]
	ended     chan struct{}
	end       func()

	// uid, generation and names are those of the CustomResourceDefinition; terminating records whether it was
	// being deleted.
	uid         types.UID
	generation  int64
	terminating bool
	names       apiextensionsv1.CustomResourceDefinitionNames
}

func newDefinition(cache *object.Cache, crd *apiextensionsv1.CustomResourceDefinition,
	converter Converter) (*definition, error) {
	ordered, err := storageFirst(crd)
	if err != nil {
		return nil, err
	}
	d := &definition{
		cache: cache, preserve: crd.Spec.PreserveUnknownFields, converter: converter,
		conversion: crd.Spec.Conversion.DeepCopy(),
		ended:      make(chan struct{}), uid: crd.UID, generation: crd.Generation,
		names:       *crd.Status.AcceptedNames.DeepCopy(),
		terminating: crd.DeletionTimestamp != nil,
	}
	d.end = sync.OnceFunc(d.close)
	info := describe(crd)
	for _, v := range ordered {
		info.Endpoints = append(info.Endpoints, endpoint(crd, v))
	}
	for _, v := range ordered {
		version, err := d.newVersion(crd, v)
		if err != nil {
			return nil, fmt.Errorf("customresourcedefinition %s, version %s: %w", crd.Name, v.Name, err)
		}
		k := &Kind{definition: d, info: info, version: version, fields: selectableFields(v.SelectableFields)}
		if v.Subresources != nil {
			k.addSubresources(v.Subresources, crd)
		}
		d.kinds = append(d.kinds, k)
	}
	d.stamp = d.stampOf()
	return d, nil
}

// storageFirst returns the versions of a definition, the storage version first.
func storageFirst(
	crd *apiextensionsv1.CustomResourceDefinition,
) ([]*apiextensionsv1.CustomResourceDefinitionVersion, error) {
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
		return nil,
			fmt.Errorf("customresourcedefinition %s has no storage version: set storage in one of spec.versions",
				crd.Name)
	}
	return ordered, nil
}

// verbs are the verbs of a custom resource, in the order of Kubernetes' discovery.
var verbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}

// describe returns the Info without endpoints and subresources.
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

// addSubresources adds the subresources of the kind's version.
func (k *Kind) addSubresources(s *apiextensionsv1.CustomResourceSubresources,
	crd *apiextensionsv1.CustomResourceDefinition) {
	if s.Status != nil {
		k.info.Subresources = append(k.info.Subresources, kind.Subresource{
			Name: "status", Verbs: []string{"get", "patch", "update"}, Preserves: []string{"metadata"},
		})
	}
	if s.Scale != nil {
		k.scale = s.Scale.DeepCopy()
		k.info.Subresources = append(k.info.Subresources, scaleSubresource(k.scale, replicasPaths(crd)))
	}
}

// kind returns the kind in a version, or nil.
func (d *definition) kind(apiVersion string) *Kind {
	for _, k := range d.kinds {
		if k.version.apiVersion == apiVersion {
			return k
		}
	}
	return nil
}

// defined returns a version by apiVersion, or nil.
func (d *definition) defined(apiVersion string) *definedVersion {
	if k := d.kind(apiVersion); k != nil {
		return k.version
	}
	return nil
}

// Stamp implements object.Codec.
func (d *definition) Stamp() object.Stamp { return d.stamp }

// Codec implements kind.Custom.
func (d *definition) Codec() object.Codec { return d.latest() }

// Cache implements object.Codec.
func (d *definition) Cache() *object.Cache { return d.cache }

// End marks the kind as no longer served. It may be called more than once.
func (d *definition) End() { d.end() }

func (d *definition) close() {
	close(d.ended)
	if d.converter != nil {
		d.converter.Close()
	}
}

// Ended implements kind.Custom.
func (d *definition) Ended() <-chan struct{} { return d.ended }

// IsCurrent reports whether New would return an equal kind for the current state of a definition. Of the status,
// only the accepted names matter. The start of a deletion increases the generation but does not change the
// kind.
func (d *definition) IsCurrent(crd *apiextensionsv1.CustomResourceDefinition) bool {
	generation := d.generation
	if crd.DeletionTimestamp != nil && !d.terminating {
		generation++
	}
	return d.uid == crd.UID && generation == crd.Generation &&
		equality.Semantic.DeepEqual(d.names, crd.Status.AcceptedNames)
}
