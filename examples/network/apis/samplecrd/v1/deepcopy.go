package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyInto makes out a deep copy of n.
func (n *Network) DeepCopyInto(out *Network) {
	*out = *n
	n.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	n.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a deep copy of n, or nil if n is nil.
func (n *Network) DeepCopy() *Network {
	if n == nil {
		return nil
	}
	out := new(Network)
	n.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (n *Network) DeepCopyObject() runtime.Object { return n.DeepCopy() }

// DeepCopyInto makes out a deep copy of s.
func (s *NetworkStatus) DeepCopyInto(out *NetworkStatus) {
	*out = *s
	if s.Conditions == nil {
		return
	}
	out.Conditions = make([]metav1.Condition, len(s.Conditions))
	for i := range s.Conditions {
		s.Conditions[i].DeepCopyInto(&out.Conditions[i])
	}
}

// DeepCopyInto makes out a deep copy of l.
func (l *NetworkList) DeepCopyInto(out *NetworkList) {
	*out = *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	if l.Items == nil {
		return
	}
	out.Items = make([]Network, len(l.Items))
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
}

// DeepCopy returns a deep copy of l, or nil if l is nil.
func (l *NetworkList) DeepCopy() *NetworkList {
	if l == nil {
		return nil
	}
	out := new(NetworkList)
	l.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *NetworkList) DeepCopyObject() runtime.Object { return l.DeepCopy() }
