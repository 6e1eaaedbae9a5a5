package nginx

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// ControllerName is the spec.controller of the IngressClasses that this controller implements.
const ControllerName = "bowline.dev/ingress-nginx"

// legacyClass is what named the class before spec.ingressClassName did.
const legacyClass = "kubernetes.io/ingress.class"

// foreign says whether an IngressClass is another controller's, whose Ingresses are left to that. Nobody has to declare the
// class: nil is for nobody else.
func foreign(class *networkingv1.IngressClass) bool {
	return class != nil && class.Spec.Controller != ControllerName
}

// mine are the Ingresses of a class: those that name it, and those that name none when it is the default. The class itself may
// be nil.
func mine(all []*networkingv1.Ingress, class *networkingv1.IngressClass, name string) []*networkingv1.Ingress {
	isDefault := class != nil && class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
	var found []*networkingv1.Ingress
	for _, i := range all {
		if i.DeletionTimestamp == nil && classOf(i, name, isDefault) == name {
			found = append(found, i)
		}
	}
	return found
}

// classOf is the class of an Ingress, given the one that it may have by default.
func classOf(i *networkingv1.Ingress, name string, isDefault bool) string {
	switch legacy, ok := i.Annotations[legacyClass]; {
	case i.Spec.IngressClassName != nil:
		return *i.Spec.IngressClassName
	case ok:
		return legacy
	case isDefault:
		return name
	}
	return ""
}
