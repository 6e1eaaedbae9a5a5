// Package resource defines the kinds of the resource.k8s.io group, for dynamic resource allocation: drivers publish
// devices in resource slices, administrators describe them with device classes and taint them with device taint rules,
// and pods request them with resource claims and resource claim templates. The server stores these objects; it neither
// allocates nor prepares devices.
//
// Each kind has its data and its own rules in the file of its name. The rules of the parts that kinds share, such as
// requests, configurations and taints, are in files named after the part. Fields of features that Kubernetes 1.37
// disables by default are dropped from every write (drop.go).
//
// Validation follows Kubernetes 1.37 (pkg/apis/resource/validation, pkg/apis/resource/v1/zz_generated.validations.go
// and pkg/registry/resource). Kubernetes also checks the label of the namespace for requests with administrator access,
// and permissions for writes of a claim's status; both need more than the object, so they are not part of this package.
// Package internal/kind/builtin registers the kinds; no other package uses this one.
package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	"k8s.io/api/resource/v1beta2"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server, in discovery's order. cache bounds the memory for cached
// encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{
		deviceClassKind(cache),
		deviceTaintRuleKind(cache),
		resourceClaimKind(cache),
		resourceClaimTemplateKind(cache),
		resourceSliceKind(cache),
	}
}

// endpoints returns the endpoints of a kind: v1 and, off by default, v1beta2 and v1beta1. JSON and protobuf of v1beta2
// are those of v1; v1beta1.go converts objects of v1beta1.
func endpoints(name string) []kind.Endpoint {
	return []kind.Endpoint{
		{Group: resourcev1.GroupName, Version: "v1"},
		{Group: resourcev1.GroupName, Version: v1beta2.SchemeGroupVersion.Version, Unserved: true,
			Deprecated: "resource.k8s.io/v1beta2 " + name + " is deprecated in v1.36+, unavailable in v1.39+"},
		{Group: resourcev1.GroupName, Version: v1beta1.SchemeGroupVersion.Version, Unserved: true,
			Deprecated: legacy + " " + name + " is deprecated in v1.35+, unavailable in v1.38+"},
	}
}

// statusSubresource returns the status of a kind. A write of the status changes no metadata: see restoreMetadata.
func statusSubresource() []kind.Subresource {
	return []kind.Subresource{{
		Name: "status", Verbs: []string{"get", "patch", "update"}, Preserves: []string{"metadata"},
	}}
}
