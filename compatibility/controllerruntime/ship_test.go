package controllerruntime

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ship is version v2 of the tests' custom resource, which is the storage version.
type Ship struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ShipSpec   `json:"spec,omitempty"`
	Status            ShipStatus `json:"status,omitempty"`
}

type ShipSpec struct {
	Tonnes int64  `json:"tonnes,omitempty"`
	Crew   string `json:"crew,omitempty"`
}

type ShipStatus struct {
	// Cargo is the name of the ConfigMap that the tests' controller creates.
	Cargo string `json:"cargo,omitempty"`
}

type ShipList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Ship `json:"items"`
}

func (s *Ship) DeepCopyObject() runtime.Object {
	c := *s
	s.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func (l *ShipList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = nil
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*Ship))
	}
	return &c
}

var v2 = schema.GroupVersion{Group: "example.com", Version: "v2"}

func addShips(s *runtime.Scheme) error {
	s.AddKnownTypes(v2, &Ship{}, &ShipList{})
	metav1.AddToGroupVersion(s, v2)
	return nil
}
