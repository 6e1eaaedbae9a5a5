package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ChoirSpec is who sings, and for whom.
type ChoirSpec struct {
	// Audience is who is greeted.
	// +kubebuilder:validation:MinLength=1
	Audience string `json:"audience"`
	// Singers each say the greeting.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Singers []string `json:"singers,omitempty"`
}

// ChoirStatus is how many have sung.
type ChoirStatus struct {
	Heard int32 `json:"heard,omitempty"`
}

// Choir says a greeting with many voices: each singer has a Greeting, which the choir owns.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Choir struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ChoirSpec   `json:"spec"`
	Status ChoirStatus `json:"status,omitempty"`
}

// ChoirList is several.
// +kubebuilder:object:root=true
type ChoirList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Choir `json:"items"`
}
