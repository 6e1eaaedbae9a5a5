package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Version and Resource are the same in both groups.
const (
	Version  = "v1"
	Kind     = "Network"
	Resource = "networks"
)

var (
	// SchemeGroupVersion is the group of the first text, and the one that a user of the example writes.
	SchemeGroupVersion = schema.GroupVersion{Group: "samplecrd.k8s.io", Version: Version}
	// SampleGroupVersion is the group of the second text.
	SampleGroupVersion = schema.GroupVersion{Group: "sample.k8s.io", Version: Version}
)

// GroupVersions are all that serve the kind.
func GroupVersions() []schema.GroupVersion {
	return []schema.GroupVersion{SchemeGroupVersion, SampleGroupVersion}
}

// AddToScheme registers Network and NetworkList under each group-version. Decoding chooses by what the object says;
// encoding by the group-version that the client is made for.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, gv := range GroupVersions() {
		scheme.AddKnownTypes(gv, &Network{}, &NetworkList{})
		metav1.AddToGroupVersion(scheme, gv)
	}
	return nil
}
