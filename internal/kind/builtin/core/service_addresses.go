package core

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateClusterIPs checks that clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy are consistent.
// Addresses of the old service, was, are not validated again, because they may violate newer rules. was is
// nil on create.
func validateClusterIPs(spec, was *corev1.ServiceSpec) field.ErrorList {
	if !hasClusterIP(spec) {
		return nil
	}
	path := field.NewPath("spec")
	errs := validateSingularIP(spec, path.Child("clusterIPs"))
	errs = append(errs, validateFamilies(spec, path)...)
	invalid := validateAddresses(spec, was, path.Child("clusterIPs"))
	errs = append(errs, invalid...)
	if n := len(spec.ClusterIPs); n > 2 {
		errs = append(errs, field.Invalid(path.Child("clusterIPs"), spec.ClusterIPs, "may only hold up to 2 values"))
	}
	if len(invalid) > 0 {
		return errs
	}
	if len(spec.ClusterIPs) > 1 {
		if dual, err := netutils.IsDualStackIPStrings(spec.ClusterIPs); err != nil || !dual {
			errs = append(errs, field.Invalid(path.Child("clusterIPs"), spec.ClusterIPs,
				"may specify no more than one IP for each IP family"))
		}
	}
	return append(errs, matchFamilies(spec, path.Child("clusterIPs"))...)
}

// validateSingularIP requires clusterIP to be the first of clusterIPs.
func validateSingularIP(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	switch {
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		return field.ErrorList{field.Invalid(path, spec.ClusterIPs, "must be empty when `clusterIP` is not specified")}
	case spec.ClusterIP == "":
		return nil
	case len(spec.ClusterIPs) == 0:
		return field.ErrorList{field.Required(path, "")}
	case spec.ClusterIPs[0] != spec.ClusterIP:
		return field.ErrorList{field.Invalid(path, spec.ClusterIPs, "first value must match `clusterIP`")}
	}
	return nil
}

func validateFamilies(spec *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	for i, f := range spec.IPFamilies {
		at := path.Child("ipFamilies").Index(i)
		errs = append(errs, fieldcheck.OneOf(at, f, corev1.IPv4Protocol, corev1.IPv6Protocol)...)
		if slices.Contains(spec.IPFamilies[:i], f) {
			errs = append(errs, field.Duplicate(at, f))
		}
	}
	if p := spec.IPFamilyPolicy; p != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("ipFamilyPolicy"), *p,
			corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack,
			corev1.IPFamilyPolicySingleStack)...)
	}
	return errs
}

// validateAddresses validates each cluster IP; None must be the only one.
func validateAddresses(spec, was *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	var before []string
	if was != nil {
		before = was.ClusterIPs
	}
	for i, ip := range spec.ClusterIPs {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(spec.ClusterIPs) > 1 {
				errs = append(errs, field.Invalid(path, spec.ClusterIPs, "'None' must be the first and only value"))
			}
			continue
		}
		errs = append(errs, validation.IsValidIPForLegacyField(path.Index(i), ip, true, before)...)
	}
	return errs
}

func matchFamilies(spec *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	if headless(spec) {
		return nil
	}
	for i, ip := range spec.ClusterIPs {
		if i >= len(spec.IPFamilies) {
			break
		}
		if family := spec.IPFamilies[i]; netutils.IsIPv6String(ip) != (family == corev1.IPv6Protocol) {
			errs = append(errs, field.Invalid(path.Index(i), ip,
				fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%v]`", family, i)))
		}
	}
	return errs
}

func validateExternalIPs(spec, was *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	var before []string
	if was != nil {
		before = was.ExternalIPs
	}
	for i, ip := range spec.ExternalIPs {
		at := path.Index(i)
		if bad := validation.IsValidIPForLegacyField(at, ip, true, before); len(bad) > 0 {
			errs = append(errs, bad...)
			continue
		}
		errs = append(errs, rejectSpecialIP(ip, at)...)
	}
	return errs
}

// rejectSpecialIP rejects addresses with a special meaning on each node.
func rejectSpecialIP(value string, path *field.Path) (errs field.ErrorList) {
	ip := netutils.ParseIPSloppy(value)
	refuse := func(when bool, message string) {
		if when {
			errs = append(errs, field.Invalid(path, value, message))
		}
	}
	refuse(ip.IsUnspecified(), fmt.Sprintf("may not be unspecified (%v)", value))
	refuse(ip.IsLoopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	refuse(ip.IsLinkLocalUnicast(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	refuse(ip.IsLinkLocalMulticast(), "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	return errs
}

// validateSourceRanges validates the client address ranges of a load balancer: the field, or the annotation
// that preceded it. As in Kubernetes, the field's path starts with a capital letter.
func validateSourceRanges(s *corev1.Service, was *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	annotation, annotated := s.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	ranges, at := s.Spec.LoadBalancerSourceRanges, path.Index
	if len(ranges) == 0 {
		if !annotated {
			return nil
		}
		path = field.NewPath("metadata", "annotations").Key(corev1.AnnotationLoadBalancerSourceRangesKey)
		at = func(int) *field.Path { return path }
		if annotation = strings.TrimSpace(annotation); annotation != "" {
			ranges = strings.Split(annotation, ",")
		}
	}
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		errs = append(errs, field.Forbidden(path, "may only be used when `type` is 'LoadBalancer'"))
	}
	var before []string
	if was != nil {
		before = was.LoadBalancerSourceRanges
	}
	for i, r := range ranges {
		errs = append(errs, validation.IsValidCIDRForLegacyField(at(i), strings.TrimSpace(r), true, before)...)
	}
	return errs
}

// immutableOnceSet is the error for a change of an immutable address, family or class.
const immutableOnceSet = "may not change once set"

// validateServiceUpdate validates immutable fields of a service with a cluster IP.
func validateServiceUpdate(spec, was *corev1.ServiceSpec) (errs field.ErrorList) {
	path := field.NewPath("spec")
	if hasClusterIP(spec) && hasClusterIP(was) {
		if !(headless(spec) && headless(was)) {
			errs = append(errs, keepAddresses(spec, was, path)...)
		}
		if !headless(spec) && !headless(was) && len(was.IPFamilies) > 0 &&
			(len(spec.IPFamilies) == 0 || spec.IPFamilies[0] != was.IPFamilies[0]) {
			errs = append(errs, field.Invalid(path.Child("ipFamilies").Index(0), spec.IPFamilies, immutableOnceSet))
		}
	}
	balancer := corev1.ServiceTypeLoadBalancer
	if spec.Type == balancer && was.Type == balancer &&
		!equality.Semantic.DeepEqual(spec.LoadBalancerClass, was.LoadBalancerClass) {
		errs = append(errs, field.Invalid(path.Child("loadBalancerClass"), spec.LoadBalancerClass, immutableOnceSet))
	}
	if hasHealthCheckPort(spec) && hasHealthCheckPort(was) && spec.HealthCheckNodePort != was.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(path.Child("healthCheckNodePort"), "field is immutable"))
	}
	return errs
}

// keepAddresses rejects changes of the primary address, and replacements of the secondary one.
func keepAddresses(spec, was *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	ips := path.Child("clusterIPs")
	same := len(spec.ClusterIPs) == len(was.ClusterIPs)
	for i, ip := range was.ClusterIPs {
		switch {
		case len(spec.ClusterIPs) == 0:
			return field.ErrorList{field.Invalid(ips.Index(0), spec.ClusterIPs, "primary clusterIP can not be unset")}
		case i < len(spec.ClusterIPs) && (i == 0 || same) && spec.ClusterIPs[i] != ip:
			errs = append(errs, field.Invalid(ips.Index(i), spec.ClusterIPs, immutableOnceSet))
		}
	}
	return errs
}

// validateBalancerStatus validates the status that a load balancer's controller writes.
func validateBalancerStatus(s, old *corev1.Service) (errs field.ErrorList) {
	path := field.NewPath("status", "loadBalancer", "ingress")
	ingress := s.Status.LoadBalancer.Ingress
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer && len(ingress) > 0 {
		return field.ErrorList{field.Forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")}
	}
	var before []string
	for _, in := range old.Status.LoadBalancer.Ingress {
		before = append(before, in.IP)
	}
	for i, in := range ingress {
		at := path.Index(i)
		if in.IP != "" {
			errs = append(errs, validation.IsValidIPForLegacyField(at.Child("ip"), in.IP, true, before)...)
		}
		errs = append(errs, validateIPMode(in, at.Child("ipMode"))...)
		if in.Hostname == "" {
			continue
		}
		errs = append(errs, fieldcheck.Invalid(at.Child("hostname"), in.Hostname,
			validation.IsDNS1123Subdomain(in.Hostname))...)
		if netutils.ParseIPSloppy(in.Hostname) != nil {
			errs = append(errs, field.Invalid(at.Child("hostname"), in.Hostname,
				"must be a DNS name, not an IP address"))
		}
	}
	return errs
}

func validateIPMode(in corev1.LoadBalancerIngress, path *field.Path) field.ErrorList {
	switch {
	case in.IPMode == nil:
		return nil
	case in.IP == "":
		return field.ErrorList{field.Forbidden(path, "may not be specified when `ip` is not set")}
	}
	return fieldcheck.OneOf(path, *in.IPMode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)
}
