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
	// AnnotationHTTP asks for an Ingress when it is "true"; "false" asks for none, as no annotation does.
	AnnotationHTTP = "ingress/http"
	// AnnotationHost is the host that is routed to the service, instead of DefaultHost.
	AnnotationHost = "ingress/host"
	// AnnotationPath is the path below which all goes to the service, instead of DefaultPath.
	AnnotationPath = "ingress/path"
	// AnnotationPort is the port of the service, by name or number, instead of the one that wish chooses.
	AnnotationPort = "ingress/port"
)

// What is routed to a service that says nothing else.
const (
	DefaultHost = "example.com"
	DefaultPath = "/"
)

// Reasons of the warnings that a user reads under a Service.
const (
	reasonBadAnnotation = "BadAnnotation" // an annotation says what nobody understands
	reasonNoPort        = "NoPort"        // there is no port to send requests to
	reasonExternalName  = "ExternalName"  // the service is a name in DNS, with no endpoints of its own
	reasonNameTaken     = "NameTaken"     // an Ingress of that name is somebody else's
	reasonRefused       = "Refused"       // the server takes no such Ingress
)

// complaint is why a service cannot have what it asks for.
type complaint struct {
	reason, message string
}

func complain(reason, format string, arguments ...any) *complaint {
	return &complaint{reason, fmt.Sprintf(format, arguments...)}
}

// wanted says whether a service asks for an Ingress. One that is being deleted, or is gone, asks for none. The complaint is
// about a value that is not understood, and so asks for none.
func wanted(s *corev1.Service) (bool, *complaint) {
	if s == nil || s.DeletionTimestamp != nil {
		return false, nil
	}
	switch value := s.Annotations[AnnotationHTTP]; value {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	default:
		return false, complain(reasonBadAnnotation, `%s is %q: it must be "true" for an Ingress, or "false"`, AnnotationHTTP, value)
	}
}

// ingressFor is the Ingress that a service asks for, with what the manager sets of one and nothing else.
func ingressFor(s *corev1.Service, class string) (*networkingv1.Ingress, *complaint) {
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
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, OwnerReferences: []metav1.OwnerReference{*owner}},
		Spec:       networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{rule}},
	}, nil
}

// annotation is an annotation's value, or what holds where there is none.
func annotation(s *corev1.Service, name, otherwise string) string {
	if value := s.Annotations[name]; value != "" {
		return value
	}
	return otherwise
}

// portOf chooses the port that requests go to: the one that AnnotationPort names; else the first that says that it speaks
// HTTP, by its name or its appProtocol; else the first. All of them of TCP.
func portOf(s *corev1.Service) (int32, *complaint) {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return 0, complain(reasonExternalName, "the service is of type ExternalName, which has no endpoints to send requests to")
	}
	isUsable := func(p corev1.ServicePort) bool { return p.Protocol == corev1.ProtocolTCP || p.Protocol == "" }
	speaksHTTP := func(p corev1.ServicePort) bool {
		return isUsable(p) && (p.Name == "http" || p.AppProtocol != nil && *p.AppProtocol == "http")
	}
	if asked := s.Annotations[AnnotationPort]; asked != "" {
		isAsked := func(p corev1.ServicePort) bool {
			return isUsable(p) && (p.Name == asked || strconv.Itoa(int(p.Port)) == asked)
		}
		if i := slices.IndexFunc(s.Spec.Ports, isAsked); i >= 0 {
			return s.Spec.Ports[i].Port, nil
		}
		return 0, complain(reasonNoPort, "%s is %q, and the service has no TCP port of that name or number", AnnotationPort, asked)
	}
	for _, suits := range []func(corev1.ServicePort) bool{speaksHTTP, isUsable} {
		if i := slices.IndexFunc(s.Spec.Ports, suits); i >= 0 {
			return s.Spec.Ports[i].Port, nil
		}
	}
	return 0, complain(reasonNoPort, "the service has no TCP port to send requests to")
}
