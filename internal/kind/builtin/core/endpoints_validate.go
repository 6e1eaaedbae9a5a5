//lint:file-ignore SA1019 Kubernetes serves its deprecated endpoints still

package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateEndpoints accepts subsets that an update does not change, because they may have been stored under
// weaker rules.
func validateEndpoints(e, old *corev1.Endpoints, _ string) (errs field.ErrorList) {
	path := field.NewPath("subsets")
	for i := range e.Subsets {
		errs = append(errs, validateSubset(&e.Subsets[i], path.Index(i))...)
	}
	if len(errs) > 0 && old != nil && equality.Semantic.DeepEqual(e.Subsets, old.Subsets) {
		return nil
	}
	return errs
}

func validateSubset(s *corev1.EndpointSubset, path *field.Path) (errs field.ErrorList) {
	if len(s.Addresses) == 0 && len(s.NotReadyAddresses) == 0 {
		errs = append(errs, field.Required(path, "must specify `addresses` or `notReadyAddresses`"))
	}
	for i := range s.Addresses {
		errs = append(errs, validateEndpointAddress(&s.Addresses[i], path.Child("addresses").Index(i))...)
	}
	for i := range s.NotReadyAddresses {
		errs = append(errs, validateEndpointAddress(&s.NotReadyAddresses[i],
			path.Child("notReadyAddresses").Index(i))...)
	}
	for i := range s.Ports {
		errs = append(errs, validateEndpointPort(&s.Ports[i], len(s.Ports) > 1, path.Child("ports").Index(i))...)
	}
	return errs
}

func validateEndpointAddress(a *corev1.EndpointAddress, path *field.Path) field.ErrorList {
	errs := validation.IsValidIPForLegacyField(path.Child("ip"), a.IP, true, nil)
	if a.Hostname != "" {
		errs = append(errs, fieldcheck.LabelName(path.Child("hostname"), a.Hostname)...)
	}
	if a.NodeName != nil {
		errs = append(errs, fieldcheck.Invalid(path.Child("nodeName"), *a.NodeName,
			apivalidation.NameIsDNSSubdomain(*a.NodeName, false))...)
	}
	return append(errs, ValidateEndpointIP(a.IP, path.Child("ip"))...)
}

func validateEndpointPort(p *corev1.EndpointPort, named bool, path *field.Path) (errs field.ErrorList) {
	switch {
	case p.Name != "":
		errs = append(errs, fieldcheck.LabelName(path.Child("name"), p.Name)...)
	case named:
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	errs = append(errs, fieldcheck.Invalid(path.Child("port"), p.Port, validation.IsValidPortNum(int(p.Port)))...)
	errs = append(errs, fieldcheck.OneOf(path.Child("protocol"), p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP,
		corev1.ProtocolUDP)...)
	if p.AppProtocol != nil {
		errs = append(errs, fieldcheck.QualifiedName(path.Child("appProtocol"), *p.AppProtocol)...)
	}
	return errs
}

// ValidateEndpointIP rejects addresses that refer to a different host on each node, such as loopback
// addresses: traffic would not leave the node.
func ValidateEndpointIP(address string, path *field.Path) (errs field.ErrorList) {
	ip := netutils.ParseIPSloppy(address)
	if ip == nil {
		return field.ErrorList{field.Invalid(path, address, "must be a valid IP address")}
	}
	refuse := func(when bool, why string) {
		if when {
			errs = append(errs, field.Invalid(path, address, why))
		}
	}
	refuse(ip.IsUnspecified(), fmt.Sprintf("may not be unspecified (%v)", address))
	refuse(ip.IsLoopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	refuse(ip.IsLinkLocalUnicast(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	refuse(ip.IsLinkLocalMulticast(), "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	return errs
}

// endpointsWarnings warns about addresses that are not in canonical form. It trusts the endpoints of
// Kubernetes' own controller.
func endpointsWarnings(e, _ *corev1.Endpoints) (warnings []string) {
	if e.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
		return nil
	}
	warn := func(addresses []corev1.EndpointAddress, path *field.Path) {
		for i, a := range addresses {
			warnings = append(warnings, validation.GetWarningsForIP(path.Index(i).Child("ip"), a.IP)...)
		}
	}
	for i, s := range e.Subsets {
		at := field.NewPath("subsets").Index(i)
		warn(s.Addresses, at.Child("addresses"))
		warn(s.NotReadyAddresses, at.Child("notReadyAddresses"))
	}
	return warnings
}
