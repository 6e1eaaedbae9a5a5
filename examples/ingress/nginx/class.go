package nginx

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
)

// ControllerName is the spec.controller of the IngressClasses that this controller implements.
const ControllerName = "bowline.dev/ingress-nginx"

// legacyClass is what named the class before spec.ingressClassName did.
const legacyClass = "kubernetes.io/ingress.class"

// mine are the Ingresses of a class: those that name it, and those that name none when it is the default. Nobody has to
// declare the IngressClass; one that is another controller's keeps its Ingresses, and the error says so.
func mine(all []*networkingv1.Ingress, classes []*networkingv1.IngressClass, name string) ([]*networkingv1.Ingress, error) {
	isDefault := false
	for _, class := range classes {
		if class.Name != name {
			continue
		}
		if class.Spec.Controller != ControllerName {
			return nil, fmt.Errorf("the IngressClass %s belongs to the controller %s, not to %s: choose another class",
				name, class.Spec.Controller, ControllerName)
		}
		isDefault = class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
	}
	var found []*networkingv1.Ingress
	for _, i := range all {
		if i.DeletionTimestamp == nil && classOf(i, name, isDefault) == name {
			found = append(found, i)
		}
	}
	return found, nil
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
