package plugins

import (
	"cmp"
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
)

var (
	ingresses      = schema.GroupResource{Group: networkingv1.GroupName, Resource: "ingresses"}
	ingressClasses = schema.GroupResource{Group: networkingv1.GroupName, Resource: "ingressclasses"}
)

// DefaultIngressClass sets the class of a new ingress that names none to the class that is marked as the
// default. If several are marked, the newest wins.
type DefaultIngressClass struct{}

// Name implements admission.Plugin.
func (DefaultIngressClass) Name() string { return "DefaultIngressClass" }

// Handles implements admission.Plugin.
func (DefaultIngressClass) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == ingresses && sub == "" && op == admission.Create
}

// Admit implements admission.Plugin. The deprecated annotation kubernetes.io/ingress.class counts as naming a class.
func (DefaultIngressClass) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	in, ok := a.Object.(*networkingv1.Ingress)
	if !ok || in.Spec.IngressClassName != nil {
		return nil
	}
	if _, named := in.Annotations[networkingv1beta1.AnnotationIngressClass]; named {
		return nil
	}
	var newest *networkingv1.IngressClass
	err := state.List(ctx, ingressClasses, "", func(obj kind.Object) bool {
		class, ok := obj.(*networkingv1.IngressClass)
		if ok && class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" &&
			(newest == nil || newer(class, newest)) {
			newest = class
		}
		return true
	})
	if newest != nil {
		in.Spec.IngressClassName = new(newest.Name)
	}
	return err
}

// newer reports whether a precedes b: by creation time, newest first, then by name.
func newer(a, b *networkingv1.IngressClass) bool {
	return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}

// Validate implements admission.Plugin.
func (DefaultIngressClass) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}
