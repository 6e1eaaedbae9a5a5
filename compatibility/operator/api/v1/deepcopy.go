package v1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyInto makes to a deep copy of g.
func (g *Greeting) DeepCopyInto(to *Greeting) {
	*to = *g
	g.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	if g.Status.Conditions != nil {
		to.Status.Conditions = make([]metav1.Condition, len(g.Status.Conditions))
		for i := range g.Status.Conditions {
			g.Status.Conditions[i].DeepCopyInto(&to.Status.Conditions[i])
		}
	}
}

// DeepCopyObject implements runtime.Object.
func (g *Greeting) DeepCopyObject() runtime.Object {
	to := &Greeting{}
	g.DeepCopyInto(to)
	return to
}

// DeepCopyObject implements runtime.Object.
func (l *GreetingList) DeepCopyObject() runtime.Object {
	to := &GreetingList{TypeMeta: l.TypeMeta, Items: make([]Greeting, len(l.Items))}
	l.ListMeta.DeepCopyInto(&to.ListMeta)
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&to.Items[i])
	}
	return to
}

// DeepCopyInto makes to a deep copy of c.
func (c *Choir) DeepCopyInto(to *Choir) {
	*to = *c
	c.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	to.Spec.Singers = slices.Clone(c.Spec.Singers)
}

// DeepCopyObject implements runtime.Object.
func (c *Choir) DeepCopyObject() runtime.Object {
	to := &Choir{}
	c.DeepCopyInto(to)
	return to
}

// DeepCopyObject implements runtime.Object.
func (l *ChoirList) DeepCopyObject() runtime.Object {
	to := &ChoirList{TypeMeta: l.TypeMeta, Items: make([]Choir, len(l.Items))}
	l.ListMeta.DeepCopyInto(&to.ListMeta)
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&to.Items[i])
	}
	return to
}
