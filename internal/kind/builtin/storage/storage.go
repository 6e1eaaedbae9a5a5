// Package storage defines the kinds of the storage.k8s.io group: storage classes and volume attributes classes, which
// describe volumes to provision; volume attachments; and the CSI drivers, their nodes and their free capacity. Each
// kind has its data, rules and columns in the files of its name.
//
// Validation follows Kubernetes 1.37 (pkg/apis/storage/validation and pkg/registry/storage). Rules that Kubernetes
// declares in its API types report their errors after the others. The server validates metadata for all kinds.
// Package internal/kind/builtin registers the kinds; no other package uses this one. Persistent volumes and claims are
// in package core.
package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/deprecation"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server, in discovery's order. cache bounds the memory for cached
// encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{
		driverKind(cache),
		nodeKind(cache),
		capacityKind(cache),
		classKind(cache),
		attachmentKind(cache),
		attributesClassKind(cache),
	}
}

// endpoints returns the endpoints of a kind in v1 and in v1beta1, which Kubernetes has removed; old manifests still
// use v1beta1. JSON and protobuf are the same in both versions. old is an object of v1beta1.
func endpoints(old runtime.Object, name string) []kind.Endpoint {
	gv := v1beta1.SchemeGroupVersion
	old.GetObjectKind().SetGroupVersionKind(gv.WithKind(name))
	return []kind.Endpoint{
		{Group: storagev1.GroupName, Version: "v1"},
		{Group: gv.Group, Version: gv.Version, Deprecated: deprecation.WarningMessage(old)},
	}
}

// status returns the status subresource, which v1beta1 does not serve. A write of the status changes no metadata.
func status() []kind.Subresource {
	return []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"},
		Only: storagev1.SchemeGroupVersion, Preserves: []string{"metadata"}}}
}
