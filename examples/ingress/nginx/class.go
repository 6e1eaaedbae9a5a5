package nginx

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// ControllerName is the spec.controller of the IngressClasses that this controller implements.
const ControllerName = "bowline.dev/ingress-nginx"

// legacyClass is the annotation that preceded spec.ingressClassName.
const legacyClass = "kubernetes.io/ingress.class"

// foreign reports whether an IngressClass belongs to another controller, so that its Ingresses must not be
// served. A class that does not exist (nil) is not foreign.
func foreign(class *networkingv1.IngressClass) bool {
	return class != nil && class.Spec.Controller != ControllerName
}

// ofClass returns the Ingresses of a class: Ingresses that name the class and, if it is the default class,
// Ingresses without a class. The class may be nil.
func ofClass(all []*networkingv1.Ingress, class *networkingv1.IngressClass, name string) []*networkingv1.Ingress {
	isDefault := class != nil && class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
	var found []*networkingv1.Ingress
	for _, i := range all {
		if i.DeletionTimestamp == nil && classOf(i, name, isDefault) == name {
			found = append(found, i)
		}
	}
	return found
}

// classOf returns the class of an Ingress. isDefault means that name is the default class.
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
