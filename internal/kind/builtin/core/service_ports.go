package core

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateServicePorts validates each port, and rejects duplicates.
func validateServicePorts(spec *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	names := map[string]bool{}
	for i := range spec.Ports {
		errs = append(errs, validateServicePort(&spec.Ports[i], len(spec.Ports) > 1, names, path.Index(i))...)
	}
	if spec.Type == corev1.ServiceTypeClusterIP {
		for i, p := range spec.Ports {
			if p.NodePort != 0 {
				errs = append(errs, field.Forbidden(path.Index(i).Child("nodePort"),
					"may not be used when `type` is 'ClusterIP'"))
			}
		}
	}
	type id struct {
		protocol corev1.Protocol
		port     int32
	}
	nodePorts, ports := map[id]bool{}, map[id]bool{}
	for i, p := range spec.Ports {
		if p.NodePort != 0 && nodePorts[id{p.Protocol, p.NodePort}] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("nodePort"), p.NodePort))
		}
		nodePorts[id{p.Protocol, p.NodePort}] = true
	}
	for i, p := range spec.Ports {
		if ports[id{p.Protocol, p.Port}] {
			errs = append(errs, field.Duplicate(path.Index(i), portLayout(p)))
		}
		ports[id{p.Protocol, p.Port}] = true
	}
	return errs
}

// portLayout formats a duplicate port as Kubernetes' errors do: with Go field names, and only number and
// protocol set.
func portLayout(p corev1.ServicePort) any {
	return struct {
		Name        string
		Protocol    corev1.Protocol
		AppProtocol *string
		Port        int32
		TargetPort  intstr.IntOrString
		NodePort    int32
	}{Protocol: p.Protocol, Port: p.Port}
}

// validateServicePort adds the port's name to names.
func validateServicePort(p *corev1.ServicePort, needsName bool, names map[string]bool,
	path *field.Path) (errs field.ErrorList) {
	switch at := path.Child("name"); {
	case p.Name != "":
		errs = append(errs, fieldcheck.LabelName(at, p.Name)...)
		if names[p.Name] {
			errs = append(errs, field.Duplicate(at, p.Name))
		}
		names[p.Name] = true
	case needsName:
		errs = append(errs, field.Required(at, ""))
	}
	errs = append(errs, fieldcheck.Invalid(path.Child("port"), p.Port, validation.IsValidPortNum(int(p.Port)))...)
	errs = append(errs, fieldcheck.OneOf(path.Child("protocol"), p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP,
		corev1.ProtocolUDP)...)
	errs = append(errs, fieldcheck.Port(path.Child("targetPort"), p.TargetPort)...)
	if p.AppProtocol != nil {
		errs = append(errs, fieldcheck.QualifiedName(path.Child("appProtocol"), *p.AppProtocol)...)
	}
	return errs
}

func sortedPorts(ports map[int32]bool) []int32 { return slices.Sorted(maps.Keys(ports)) }
