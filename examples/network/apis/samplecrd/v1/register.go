package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The version, kind and resource are the same in both groups.
const (
	Version  = "v1"
	Kind     = "Network"
	Resource = "networks"
)

var (
	// SchemeGroupVersion is the group of the first tutorial, and the group that the example's manifests use.
	SchemeGroupVersion = schema.GroupVersion{Group: "samplecrd.k8s.io", Version: Version}
	// SampleGroupVersion is the group of the second tutorial.
	SampleGroupVersion = schema.GroupVersion{Group: "sample.k8s.io", Version: Version}
)

// GroupVersions returns the group versions that serve the kind.
func GroupVersions() []schema.GroupVersion {
	return []schema.GroupVersion{SchemeGroupVersion, SampleGroupVersion}
}

// AddToScheme registers Network and NetworkList under both group versions. Decoding uses the apiVersion of
// the object; encoding uses the group version that the client was made for.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, gv := range GroupVersions() {
		scheme.AddKnownTypes(gv, &Network{}, &NetworkList{})
		metav1.AddToGroupVersion(scheme, gv)
	}
	return nil
}
