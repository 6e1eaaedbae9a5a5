// Package v1 contains the API types of the operator: greetings, and choirs that say them.
// +kubebuilder:object:generate=true
// +groupName=example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group version of the types.
var GroupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// AddToScheme registers the types with a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Greeting{}, &GreetingList{}, &Choir{}, &ChoirList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// GreetingSpec describes a greeting to be said.
type GreetingSpec struct {
	// Name is the name that is greeted.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Times is how often the greeting is said; the default is once.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +kubebuilder:default=1
	Times int32 `json:"times,omitempty"`
}

// GreetingStatus describes what has been said.
type GreetingStatus struct {
	ConfigMap  string             `json:"configMap,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Greeting is a greeting that is written to a ConfigMap.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GreetingSpec   `json:"spec"`
	Status GreetingStatus `json:"status,omitempty"`
}

// GreetingList is a list of Greetings.
// +kubebuilder:object:root=true
type GreetingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Greeting `json:"items"`
}
