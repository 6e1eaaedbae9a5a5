// Package v1alpha1 contains the types of admissionregistration.k8s.io/v1alpha1 of Kubernetes 1.7 to 1.13,
// InitializerConfigurations, which k8s.io/api no longer has. Their JSON and protobuf encodings are unchanged.
package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group-version of the package.
var SchemeGroupVersion = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1alpha1"}

// InitializerConfiguration says who initializes new objects.
// +k8s:openapi-gen=true
type InitializerConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Initializers act on a new object in this order. Of several configurations, those of the first by name act first.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Initializers []Initializer `json:"initializers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

// InitializerConfigurationList is a list of InitializerConfigurations.
// +k8s:openapi-gen=true
type InitializerConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the configurations.
	Items []InitializerConfiguration `json:"items"`
}

// Initializer names an initializer of new objects and selects the objects that it initializes.
// +k8s:openapi-gen=true
type Initializer struct {
	// Name is added to metadata.initializers.pending of the objects, until the initializer removes it. It has at
	// least two dots, as in envoy.initializer.kubernetes.io.
	Name string `json:"name"`
	// Rules select resources. The initializer applies to a resource that matches any of them.
	// +optional
	// +listType=atomic
	Rules []Rule `json:"rules,omitempty"`
}

// Rule matches the resources that each of its lists names; * names all.
// +k8s:openapi-gen=true
type Rule struct {
	// APIGroups are the groups of the resources; the empty one is that of pods.
	// +optional
	// +listType=atomic
	APIGroups []string `json:"apiGroups,omitempty"`
	// APIVersions are the versions of the requests.
	// +optional
	// +listType=atomic
	APIVersions []string `json:"apiVersions,omitempty"`
	// Resources are the resources, without subresources.
	// +optional
	// +listType=atomic
	Resources []string `json:"resources,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (c *InitializerConfiguration) DeepCopyObject() runtime.Object {
	out := c.copied()
	return &out
}

func (c *InitializerConfiguration) copied() InitializerConfiguration {
	out := *c
	c.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Initializers = slices.Clone(c.Initializers)
	for i := range out.Initializers {
		one := &out.Initializers[i]
		one.Rules = slices.Clone(one.Rules)
		for n, r := range one.Rules {
			one.Rules[n] = Rule{slices.Clone(r.APIGroups), slices.Clone(r.APIVersions), slices.Clone(r.Resources)}
		}
	}
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *InitializerConfigurationList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = slices.Clone(l.Items)
	for i := range out.Items {
		out.Items[i] = l.Items[i].copied()
	}
	return &out
}

// model is the prefix of the names of the OpenAPI definitions.
const model = "io.k8s.api.admissionregistration.v1alpha1."

// OpenAPIModelName is the name of the type's definition.
func (InitializerConfiguration) OpenAPIModelName() string { return model + "InitializerConfiguration" }

// OpenAPIModelName is the name of the type's definition.
func (InitializerConfigurationList) OpenAPIModelName() string {
	return model + "InitializerConfigurationList"
}

// OpenAPIModelName is the name of the type's definition.
func (Initializer) OpenAPIModelName() string { return model + "Initializer" }

// OpenAPIModelName is the name of the type's definition.
func (Rule) OpenAPIModelName() string { return model + "Rule" }
