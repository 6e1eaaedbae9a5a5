package admission

import (
	"cmp"
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
)

var (
	ingresses      = schema.GroupResource{Group: networkingv1.GroupName, Resource: "ingresses"}
	ingressClasses = schema.GroupResource{Group: networkingv1.GroupName, Resource: "ingressclasses"}
)

// DefaultIngressClass gives new ingresses that name no class the one that is marked as default: of several, the newest.
type DefaultIngressClass struct{}

// Name implements Plugin.
func (DefaultIngressClass) Name() string { return "DefaultIngressClass" }

// Handles implements Plugin.
func (DefaultIngressClass) Handles(op Operation, resource schema.GroupResource, sub string) bool {
	return resource == ingresses && sub == "" && op == Create
}

// Admit implements Plugin. The annotation that named the class before the field did counts as a class.
func (DefaultIngressClass) Admit(ctx context.Context, a *Attributes, state Reader) error {
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
		if ok && class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" && (newest == nil || newer(class, newest)) {
			newest = class
		}
		return true
	})
	if newest != nil {
		in.Spec.IngressClassName = new(newest.Name)
	}
	return err
}

// newer orders classes: of those that were made in the same second the name decides.
func newer(a, b *networkingv1.IngressClass) bool {
	return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}

// Validate implements Plugin.
func (DefaultIngressClass) Validate(context.Context, *Attributes, Reader) error { return nil }
