package core

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateService validates a service after defaults, prepareService and assignService. It does not check
// fields that these always set.
func validateService(s, old *corev1.Service, sub string) (errs field.ErrorList) {
	if sub == "status" {
		return validateBalancerStatus(s, old)
	}
	var was *corev1.ServiceSpec
	if old != nil {
		was = &old.Spec
		errs = append(errs, validateServiceUpdate(&s.Spec, was)...)
	}
	spec, path := &s.Spec, field.NewPath("spec")
	errs = append(errs, fieldcheck.Finalizers(s)...)
	errs = append(errs, validateTopologyAnnotations(s)...)
	if len(spec.Ports) == 0 && !headless(spec) && hasClusterIP(spec) {
		errs = append(errs, field.Required(path.Child("ports"), ""))
	}
	errs = append(errs, validateServiceType(spec, path)...)
	errs = append(errs, validateServicePorts(spec, path.Child("ports"))...)
	errs = append(errs, metavalidation.ValidateLabels(spec.Selector, path.Child("selector"))...)
	errs = append(errs, validateServiceAffinity(spec, path)...)
	errs = append(errs, validateClusterIPs(spec, was)...)
	errs = append(errs, validateExternalIPs(spec, was, path.Child("externalIPs"))...)
	errs = append(errs, validateSourceRanges(s, was, path.Child("LoadBalancerSourceRanges"))...)
	errs = append(errs, validateBalancerFields(spec, path)...)
	return append(errs, validateTraffic(spec, path)...)
}

func validateTopologyAnnotations(s *corev1.Service) field.ErrorList {
	hints, hasHints := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	mode, hasMode := s.Annotations[corev1.AnnotationTopologyMode]
	if !hasHints || !hasMode || hints == mode {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(corev1.AnnotationTopologyMode)
	return field.ErrorList{field.Invalid(path, mode,
		fmt.Sprintf("must match annotations[%s] when both are specified",
			corev1.DeprecatedAnnotationTopologyAwareHints))}
}

var serviceTypes = []corev1.ServiceType{
	corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer,
	corev1.ServiceTypeNodePort,
}

func validateServiceType(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	switch spec.Type {
	case corev1.ServiceTypeClusterIP:
		return nil
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if headless(spec) {
			at := path.Child("clusterIPs").Index(0)
			return field.ErrorList{field.Invalid(at, corev1.ClusterIPNone,
				fmt.Sprintf("may not be set to 'None' for %s services", spec.Type))}
		}
		return nil
	case corev1.ServiceTypeExternalName:
		return validateExternalName(spec, path)
	}
	return field.ErrorList{field.NotSupported(path.Child("type"), spec.Type, serviceTypes)}
}

// validateExternalName requires a DNS name, which may end in a dot, and rejects fields about addresses.
func validateExternalName(spec *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"clusterIPs", len(spec.ClusterIPs) > 0},
		{"ipFamilies", len(spec.IPFamilies) > 0},
		{"ipFamilyPolicy", spec.IPFamilyPolicy != nil},
	} {
		if f.set {
			errs = append(errs, field.Forbidden(path.Child(f.name), "may not be set for ExternalName services"))
		}
	}
	name := strings.TrimSuffix(spec.ExternalName, ".")
	if name == "" {
		return append(errs, field.Required(path.Child("externalName"), ""))
	}
	return append(errs, fieldcheck.Subdomain(path.Child("externalName"), name)...)
}

func validateServiceAffinity(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	config := path.Child("sessionAffinityConfig")
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		return nil
	case corev1.ServiceAffinityClientIP:
		t := spec.SessionAffinityConfig.ClientIP.TimeoutSeconds
		if *t > 0 && *t <= maxAffinitySeconds {
			return nil
		}
		return field.ErrorList{field.Invalid(config.Child("clientIP", "timeoutSeconds"), t,
			fmt.Sprintf("must be greater than 0 and less than %d", maxAffinitySeconds))}
	}
	return field.ErrorList{field.NotSupported(path.Child("sessionAffinity"), spec.SessionAffinity,
		[]corev1.ServiceAffinity{corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone})}
}

// maxAffinitySeconds is the maximum session affinity: one day.
const maxAffinitySeconds = 86400

// validateBalancerFields rejects fields of load balancers in other types.
func validateBalancerFields(spec *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	const only = "may only be used when `type` is 'LoadBalancer'"
	balancer := spec.Type == corev1.ServiceTypeLoadBalancer
	if spec.AllocateLoadBalancerNodePorts != nil && !balancer {
		errs = append(errs, field.Forbidden(path.Child("allocateLoadBalancerNodePorts"), only))
	}
	class := spec.LoadBalancerClass
	switch at := path.Child("loadBalancerClass"); {
	case class == nil:
	case !balancer:
		errs = append(errs, field.Forbidden(at, only))
	default:
		errs = append(errs, fieldcheck.QualifiedName(at, *class)...)
	}
	return errs
}

var internalPolicies = []corev1.ServiceInternalTrafficPolicy{
	corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal,
}

// validateTraffic validates the internal and external traffic policies.
func validateTraffic(spec *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	external := path.Child("externalTrafficPolicy")
	switch policy := spec.ExternalTrafficPolicy; {
	case !isExternal(spec):
		if policy != "" {
			errs = append(errs, field.Invalid(external, policy, "may only be set for externally-accessible services"))
		}
	default:
		errs = append(errs, fieldcheck.OneOf(external, policy, corev1.ServiceExternalTrafficPolicyCluster,
			corev1.ServiceExternalTrafficPolicyLocal)...)
	}
	check := path.Child("healthCheckNodePort")
	switch port := spec.HealthCheckNodePort; {
	case port == 0:
	case !hasHealthCheckPort(spec):
		errs = append(errs, field.Invalid(check, port,
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	default:
		errs = append(errs, fieldcheck.Invalid(check, port, validation.IsValidPortNum(int(port)))...)
	}
	if p := spec.InternalTrafficPolicy; p != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("internalTrafficPolicy"), *p, internalPolicies...)...)
	}
	if d := spec.TrafficDistribution; d != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("trafficDistribution"), *d,
			corev1.ServiceTrafficDistributionPreferClose,
			corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode)...)
	}
	return errs
}

// serviceWarnings warns about fields that have no effect or are deprecated.
func serviceWarnings(s, _ *corev1.Service) (warnings []string) {
	spec, path := &s.Spec, field.NewPath("spec")
	if _, ok := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; ok {
		warnings = append(warnings, fmt.Sprintf("annotation %s is deprecated, please use %s instead",
			corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	}
	none := spec.Type == corev1.ServiceTypeClusterIP && spec.ClusterIP == corev1.ClusterIPNone
	warn := func(when bool, format string, args ...any) {
		if when {
			warnings = append(warnings, fmt.Sprintf(format, args...))
		}
	}
	if !none {
		for i, ip := range spec.ClusterIPs {
			warnings = append(warnings, validation.GetWarningsForIP(path.Child("clusterIPs").Index(i), ip)...)
		}
	}
	external := len(spec.ExternalIPs) > 0
	warn(none && spec.LoadBalancerIP != "", "spec.loadBalancerIP is ignored for headless services")
	warn(none && external, "spec.externalIPs is ignored for headless services")
	warn(none && spec.SessionAffinity != corev1.ServiceAffinityNone,
		"spec.SessionAffinity is ignored for headless services")
	for i, ip := range spec.ExternalIPs {
		warnings = append(warnings, validation.GetWarningsForIP(path.Child("externalIPs").Index(i), ip)...)
	}
	warn(external && !none && hasClusterIP(spec),
		"spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	if spec.LoadBalancerIP != "" {
		warnings = append(warnings, validation.GetWarningsForIP(path.Child("loadBalancerIP"), spec.LoadBalancerIP)...)
	}
	for i, cidr := range spec.LoadBalancerSourceRanges {
		warnings = append(warnings, validation.GetWarningsForCIDR(path.Child("loadBalancerSourceRanges").Index(i),
			cidr)...)
	}
	warn(external && !hasClusterIP(spec), "spec.externalIPs is ignored when spec.type is %q",
		corev1.ServiceTypeExternalName)
	warn(hasClusterIP(spec) && spec.ExternalName != "", "spec.externalName is ignored when spec.type is not %q",
		corev1.ServiceTypeExternalName)
	warn(spec.TrafficDistribution != nil && *spec.TrafficDistribution == corev1.ServiceTrafficDistributionPreferClose,
		"spec.trafficDistribution: %q is deprecated; use %q", corev1.ServiceTrafficDistributionPreferClose,
		corev1.ServiceTrafficDistributionPreferSameZone)
	return warnings
}
