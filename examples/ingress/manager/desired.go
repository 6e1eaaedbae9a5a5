package manager

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations of a Service that the manager reads.
const (
	// AnnotationHTTP requests an Ingress if it is "true". The value "false" is equivalent to no annotation.
	AnnotationHTTP = "ingress/http"
	// AnnotationHost is the host of the Ingress; the default is DefaultHost.
	AnnotationHost = "ingress/host"
	// AnnotationPath is the path prefix of the Ingress; the default is DefaultPath.
	AnnotationPath = "ingress/path"
	// AnnotationPort is the name or number of the service's port; see portOf for the default.
	AnnotationPort = "ingress/port"
)

// The defaults of host and path.
const (
	DefaultHost = "example.com"
	DefaultPath = "/"
)

// Reasons of warning events about a Service.
const (
	reasonBadAnnotation = "BadAnnotation" // an annotation has an invalid value
	reasonNoPort        = "NoPort"        // the service has no suitable port
	reasonExternalName  = "ExternalName"  // the service is a DNS name, without endpoints
	reasonNameTaken     = "NameTaken"     // an Ingress of that name has another owner
	reasonRefused       = "Refused"       // the server rejected the Ingress
)

// problem is the reason why a service gets no Ingress.
type problem struct {
	reason, message string
}

func problemf(reason, format string, arguments ...any) *problem {
	return &problem{reason, fmt.Sprintf(format, arguments...)}
}

// wanted reports whether a service requests an Ingress. A service that is nil or being deleted requests none.
// If the annotation's value is invalid, wanted returns false and a problem.
func wanted(s *corev1.Service) (bool, *problem) {
	if s == nil || s.DeletionTimestamp != nil {
		return false, nil
	}
	switch value := s.Annotations[AnnotationHTTP]; value {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	default:
		return false, problemf(reasonBadAnnotation, `%s is %q: it must be "true" for an Ingress, or "false"`,
			AnnotationHTTP, value)
	}
}

// ingressFor returns the Ingress that a service requests, with only the fields that the manager owns.
func ingressFor(s *corev1.Service, class string) (*networkingv1.Ingress, *problem) {
	port, problem := portOf(s)
	if problem != nil {
		return nil, problem
	}
	prefix := networkingv1.PathTypePrefix
	path := networkingv1.HTTPIngressPath{Path: annotation(s, AnnotationPath, DefaultPath), PathType: &prefix}
	path.Backend.Service = &networkingv1.IngressServiceBackend{
		Name: s.Name, Port: networkingv1.ServiceBackendPort{Number: port},
	}
	rule := networkingv1.IngressRule{Host: annotation(s, AnnotationHost, DefaultHost)}
	rule.HTTP = &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path}}
	owner := metav1.NewControllerRef(s, corev1.SchemeGroupVersion.WithKind("Service"))
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name,
			OwnerReferences: []metav1.OwnerReference{*owner}},
		Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{rule}},
	}, nil
}

// annotation returns the value of an annotation, or a default if it is empty.
func annotation(s *corev1.Service, name, fallback string) string {
	if value := s.Annotations[name]; value != "" {
		return value
	}
	return fallback
}

// portOf returns the TCP port to which requests are sent: the one that AnnotationPort names; otherwise the
// first one with the name or appProtocol http; otherwise the first one.
func portOf(s *corev1.Service) (int32, *problem) {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return 0, problemf(reasonExternalName,
			"the service is of type ExternalName, which has no endpoints to send requests to")
	}
	isUsable := func(p corev1.ServicePort) bool { return p.Protocol == corev1.ProtocolTCP || p.Protocol == "" }
	speaksHTTP := func(p corev1.ServicePort) bool {
		return isUsable(p) && (p.Name == "http" || p.AppProtocol != nil && *p.AppProtocol == "http")
	}
	if requested := s.Annotations[AnnotationPort]; requested != "" {
		isRequested := func(p corev1.ServicePort) bool {
			return isUsable(p) && (p.Name == requested || strconv.Itoa(int(p.Port)) == requested)
		}
		if i := slices.IndexFunc(s.Spec.Ports, isRequested); i >= 0 {
			return s.Spec.Ports[i].Port, nil
		}
		return 0, problemf(reasonNoPort, "%s is %q, and the service has no TCP port of that name or number",
			AnnotationPort, requested)
	}
	for _, suits := range []func(corev1.ServicePort) bool{speaksHTTP, isUsable} {
		if i := slices.IndexFunc(s.Spec.Ports, suits); i >= 0 {
			return s.Spec.Ports[i].Port, nil
		}
	}
	return 0, problemf(reasonNoPort, "the service has no TCP port to send requests to")
}
