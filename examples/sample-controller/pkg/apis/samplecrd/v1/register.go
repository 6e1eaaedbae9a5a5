package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/apis/samplecrd"
)

// SchemeGroupVersion is the group version of all types in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: samplecrd.GroupName, Version: samplecrd.Version}

var (
	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme registers the types with a scheme, such as that of the generated clientset.
	AddToScheme = schemeBuilder.AddToScheme
)

// Resource returns the group resource of a name. The generated listers use it in errors.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

// addKnownTypes registers Network and NetworkList.
func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &Network{}, &NetworkList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
