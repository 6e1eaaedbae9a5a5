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
	"github.com/bowline-dev/bowline/object"
)

// definition is what the versions of a custom kind have in common. It is the codec of their objects. It is immutable but for
// its successor: a changed definition makes a new one.
type definition struct {
	cache     *object.Cache
	encodings encodings
	// kinds are one for each version; the first is the one that objects are stored in.
	kinds []*Kind
	// preserve is spec.preserveUnknownFields: nothing is pruned. Only definitions from v1beta1 have it.
	preserve bool
	// converter is nil for the conversion strategy None. conversion is what the definition says of it.
	converter  Converter
	conversion *apiextensionsv1.CustomResourceConversion

	// stamp is that of what its kinds write: see stampOf.
	stamp object.Stamp
	// successor is what the definition became next, for those who were asked to read by this one and still do.
	successor atomic.Pointer[definition]
	ended     chan struct{}
	end       func()

	// uid, generation and names are those of the CustomResourceDefinition, and terminating whether it was being deleted.
	uid         types.UID
	generation  int64
	terminating bool
	names       apiextensionsv1.CustomResourceDefinitionNames
}

func newDefinition(cache *object.Cache, crd *apiextensionsv1.CustomResourceDefinition, converter Converter) (*definition, error) {
	ordered, err := storageFirst(crd)
	if err != nil {
		return nil, err
	}
	d := &definition{
		cache: cache, preserve: crd.Spec.PreserveUnknownFields, converter: converter, conversion: crd.Spec.Conversion.DeepCopy(),
		ended: make(chan struct{}), uid: crd.UID, generation: crd.Generation, names: *crd.Status.AcceptedNames.DeepCopy(),
		terminating: crd.DeletionTimestamp != nil,
	}
	d.end = sync.OnceFunc(d.close)
	info := describe(crd)
	for _, v := range ordered {
		info.Endpoints = append(info.Endpoints, endpoint(crd, v))
	}
	for _, v := range ordered {
		version, err := d.define(crd, v)
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

// addSubresources declares the subresources of the kind's version.
func (k *Kind) addSubresources(s *apiextensionsv1.CustomResourceSubresources, crd *apiextensionsv1.CustomResourceDefinition) {
	if s.Status != nil {
		k.info.Subresources = append(k.info.Subresources, kind.Subresource{
			Name: "status", Verbs: []string{"get", "patch", "update"}, Keeps: []string{"metadata"},
		})
	}
	if s.Scale != nil {
		k.scale = s.Scale.DeepCopy()
		k.info.Subresources = append(k.info.Subresources, scaleSubresource(k.scale, replicasPaths(crd)))
	}
}

// kind is the kind in a version, or nil.
func (d *definition) kind(apiVersion string) *Kind {
	for _, k := range d.kinds {
		if k.version.apiVersion == apiVersion {
			return k
		}
	}
	return nil
}

// defined finds a version by apiVersion, or nil.
func (d *definition) defined(apiVersion string) *definedVersion {
	if k := d.kind(apiVersion); k != nil {
		return k.version
	}
	return nil
}

// Stamp implements object.Codec.
func (d *definition) Stamp() object.Stamp { return d.stamp }

// Cache implements object.Codec.
func (d *definition) Cache() *object.Cache { return d.cache }

// End says that the kind is not served any longer. It may be called again.
func (d *definition) End() { d.end() }

func (d *definition) close() {
	close(d.ended)
	if d.converter != nil {
		d.converter.Close()
	}
}

// Ended implements kind.Ender.
func (d *definition) Ended() <-chan struct{} { return d.ended }

// MadeOf says whether a definition, as it stands now, would make the same kind again: of its status, only the names
// matter, and that it is being deleted, which its generation counts too, changes nothing.
func (d *definition) MadeOf(crd *apiextensionsv1.CustomResourceDefinition) bool {
	generation := d.generation
	if crd.DeletionTimestamp != nil && !d.terminating {
		generation++
	}
	return d.uid == crd.UID && generation == crd.Generation && equality.Semantic.DeepEqual(d.names, crd.Status.AcceptedNames)
}
