package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ChoirSpec lists the singers of a choir and names their audience.
type ChoirSpec struct {
	// Audience is the name that is greeted.
	// +kubebuilder:validation:MinLength=1
	Audience string `json:"audience"`
	// Singers are the names of the singers, each of whom says the greeting.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Singers []string `json:"singers,omitempty"`
}

// ChoirStatus counts the singers who have sung.
type ChoirStatus struct {
	Heard int32 `json:"heard,omitempty"`
}

// Choir is a group of singers who say the same greeting. The choir owns a Greeting for each singer.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Choir struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ChoirSpec   `json:"spec"`
	Status ChoirStatus `json:"status,omitempty"`
}

// ChoirList is a list of Choirs.
// +kubebuilder:object:root=true
type ChoirList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Choir `json:"items"`
}
