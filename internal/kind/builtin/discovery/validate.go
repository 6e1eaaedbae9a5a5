package discovery

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// Limits on the size of a slice.
const (
	maxEndpoints = 1000
	maxAddresses = 100 // per endpoint
	maxPorts     = 20000
	maxHints     = 8 // zones, and nodes, per endpoint
)

func validateEndpointSlice(s, old *discoveryv1.EndpointSlice, _ string) (errs field.ErrorList) {
	path := field.NewPath("addressType")
	errs = append(errs, validateAddressType(s.AddressType, path)...)
	errs = append(errs, validatePorts(s.Ports, field.NewPath("ports"))...)
	// Endpoints that the update does not change may have been stored under older, weaker rules.
	bad := validateEndpoints(s, field.NewPath("endpoints"))
	if len(bad) > 0 && (old == nil || !equality.Semantic.DeepEqual(s.Endpoints, old.Endpoints)) {
		errs = append(errs, bad...)
	}
	if old != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(s.AddressType, old.AddressType, path)...)
	}
	return errs
}

func validateAddressType(t discoveryv1.AddressType, path *field.Path) field.ErrorList {
	types := []discoveryv1.AddressType{discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4,
		discoveryv1.AddressTypeIPv6}
	switch {
	case t == "":
		return field.ErrorList{field.Required(path, "")}
	case !slices.Contains(types, t):
		return field.ErrorList{field.NotSupported(path, t, types)}
	}
	return nil
}

func validatePorts(ports []discoveryv1.EndpointPort, path *field.Path) (errs field.ErrorList) {
	if len(ports) > maxPorts {
		return field.ErrorList{field.TooMany(path, len(ports), maxPorts)}
	}
	protocols := []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}
	seen := make(map[string]bool, len(ports))
	for i, p := range ports {
		at := path.Index(i)
		if *p.Name != "" {
			errs = append(errs, fieldcheck.Invalid(at.Child("name"), *p.Name, validation.IsDNS1123Label(*p.Name))...)
		}
		if seen[*p.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), p.Name))
		}
		seen[*p.Name] = true
		if !slices.Contains(protocols, *p.Protocol) {
			errs = append(errs, field.NotSupported(at.Child("protocol"), *p.Protocol, protocols))
		}
		if p.AppProtocol != nil {
			errs = append(errs, fieldcheck.Invalid(at.Child("appProtocol"), *p.AppProtocol,
				validation.IsQualifiedName(*p.AppProtocol))...)
		}
	}
	return errs
}

func validateEndpoints(s *discoveryv1.EndpointSlice, path *field.Path) (errs field.ErrorList) {
	if len(s.Endpoints) > maxEndpoints {
		return field.ErrorList{field.TooMany(path, len(s.Endpoints), maxEndpoints)}
	}
	for i := range s.Endpoints {
		e, at := &s.Endpoints[i], path.Index(i)
		errs = append(errs, validateAddresses(e.Addresses, s.AddressType, at.Child("addresses"))...)
		if e.NodeName != nil {
			errs = append(errs, fieldcheck.Invalid(at.Child("nodeName"), *e.NodeName,
				apivalidation.NameIsDNSSubdomain(*e.NodeName, false))...)
		}
		if e.Hostname != nil {
			errs = append(errs, fieldcheck.Invalid(at.Child("hostname"), *e.Hostname,
				validation.IsDNS1123Label(*e.Hostname))...)
		}
		if e.Hints != nil {
			errs = append(errs, validateHints(e.Hints, at.Child("hints"))...)
		}
	}
	return errs
}

// validateAddresses validates the addresses of one endpoint. It accepts any address if the type is unknown.
func validateAddresses(addresses []string, of discoveryv1.AddressType, path *field.Path) (errs field.ErrorList) {
	switch n := len(addresses); {
	case n == 0:
		errs = append(errs, field.Required(path, "must contain at least 1 address"))
	case n > maxAddresses:
		errs = append(errs, field.TooMany(path, n, maxAddresses))
	}
	for i, a := range addresses {
		errs = append(errs, validateAddress(a, of, path, path.Index(i))...)
	}
	return errs
}

// validateAddress validates an address at a path. Errors about the IP family name the path of the list.
func validateAddress(address string, of discoveryv1.AddressType, list, at *field.Path) (errs field.ErrorList) {
	switch of {
	case discoveryv1.AddressTypeIPv4:
		if bad := validation.IsValidIPForLegacyField(at, address, true, nil); len(bad) > 0 {
			return bad
		}
		if !netutils.IsIPv4String(address) {
			errs = append(errs, field.Invalid(list, address, "must be an IPv4 address"))
		}
		return append(errs, core.ValidateEndpointIP(address, at)...)
	case discoveryv1.AddressTypeIPv6:
		if bad := validation.IsValidIP(at, address); len(bad) > 0 {
			return bad
		}
		if !netutils.IsIPv6String(address) {
			errs = append(errs, field.Invalid(list, address, "must be an IPv6 address"))
		}
		return append(errs, core.ValidateEndpointIP(address, at)...)
	case discoveryv1.AddressTypeFQDN:
		return validation.IsFullyQualifiedDomainName(at, address)
	}
	return nil
}

// validateHints validates the zones and nodes for which an endpoint is intended.
func validateHints(h *discoveryv1.EndpointHints, path *field.Path) (errs field.ErrorList) {
	zones, nodes := path.Child("forZones"), path.Child("forNodes")
	if n := len(h.ForZones); n > maxHints {
		return field.ErrorList{field.TooMany(zones, n, maxHints)}
	}
	seen := map[string]bool{}
	for i, zone := range h.ForZones {
		at := zones.Index(i).Child("name")
		if seen[zone.Name] {
			errs = append(errs, field.Duplicate(at, zone.Name))
		}
		seen[zone.Name] = true
		errs = append(errs, fieldcheck.Invalid(at, zone.Name, validation.IsValidLabelValue(zone.Name))...)
	}
	if n := len(h.ForNodes); n > maxHints {
		return append(errs, field.TooMany(nodes, n, maxHints))
	}
	clear(seen)
	for i, node := range h.ForNodes {
		at := nodes.Index(i).Child("name")
		if seen[node.Name] {
			errs = append(errs, field.Duplicate(at, node.Name))
		}
		seen[node.Name] = true
		errs = append(errs, fieldcheck.Invalid(at, node.Name, apivalidation.NameIsDNSSubdomain(node.Name, false))...)
	}
	return errs
}

// endpointSliceWarnings warns about FQDN slices and about addresses that are not in canonical form. It trusts
// the slices of Kubernetes' own controllers.
func endpointSliceWarnings(s, old *discoveryv1.EndpointSlice) (warnings []string) {
	if old == nil && s.AddressType == discoveryv1.AddressTypeFQDN {
		warnings = append(warnings, "spec.addressType: FQDN endpoints are deprecated")
	}
	switch s.Labels[discoveryv1.LabelManagedBy] {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io":
		return warnings
	}
	for i, e := range s.Endpoints {
		for j, a := range e.Addresses {
			if netutils.ParseIPSloppy(a) == nil { // a name, for which the next call would log a programming error
				continue
			}
			warnings = append(warnings,
				validation.GetWarningsForIP(field.NewPath("endpoints").Index(i).Child("addresses").Index(j), a)...)
		}
	}
	return warnings
}
