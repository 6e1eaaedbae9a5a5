package core

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// serviceFamily is the IP family of this server's service addresses.
const serviceFamily = corev1.IPv4Protocol

// assignFamilies sets ipFamilyPolicy and ipFamilies, and rejects what a single-stack server cannot provide.
// was is nil on create. It follows initIPFamilyFields (pkg/registry/core/service/storage) for a single-stack
// cluster.
func assignFamilies(spec, was *corev1.ServiceSpec) field.ErrorList {
	if !hasClusterIP(spec) || was != nil && keepsDualStack(spec, was) {
		return nil
	}
	assignFamilyPolicy(spec, was)
	if errs := validateClusterIPs(spec, was); len(errs) > 0 {
		return errs
	}
	var errs field.ErrorList
	if was != nil {
		errs = reduceFamilies(spec, was)
	}
	errs = append(errs, rejectSecondFamily(spec)...)
	errs = append(errs, inferFamilies(spec)...)
	if len(errs) > 0 {
		return errs
	}
	if headless(spec) && len(spec.Selector) == 0 {
		assignHeadlessFamilies(spec)
		return nil
	}
	if errs := rejectOtherFamilies(spec); len(errs) > 0 {
		return errs
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{serviceFamily}
	}
	return nil
}

// keepsDualStack reports whether a service with the policy PreferDualStack requests nothing new.
func keepsDualStack(spec, was *corev1.ServiceSpec) bool {
	prefers := func(p *corev1.IPFamilyPolicy) bool { return p != nil && *p == corev1.IPFamilyPolicyPreferDualStack }
	return spec.Type == was.Type && prefers(spec.IPFamilyPolicy) &&
		(was.IPFamilyPolicy == nil || prefers(was.IPFamilyPolicy)) &&
		slices.Equal(spec.ClusterIPs, was.ClusterIPs) && slices.Equal(spec.IPFamilies, was.IPFamilies)
}

// assignFamilyPolicy retains the old policy, or sets a default. A headless service without a selector
// requires both families, because the families of its endpoints are unknown.
func assignFamilyPolicy(spec, was *corev1.ServiceSpec) {
	switch {
	case spec.IPFamilyPolicy != nil:
	case was != nil && was.IPFamilyPolicy != nil:
		spec.IPFamilyPolicy = new(*was.IPFamilyPolicy)
	case spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0:
		spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack)
	default:
		spec.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
	}
}

// reduceFamilies removes the second family if the policy changes to SingleStack, and rejects other removals.
func reduceFamilies(spec, was *corev1.ServiceSpec) (errs field.ErrorList) {
	path := field.NewPath("spec", "ipFamilyPolicy")
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack {
		if len(spec.ClusterIPs) > 1 && slices.Equal(spec.ClusterIPs, was.ClusterIPs) {
			spec.ClusterIPs = spec.ClusterIPs[:1]
		}
		if len(spec.IPFamilies) > 1 && slices.Equal(spec.IPFamilies, was.IPFamilies) {
			spec.IPFamilies = spec.IPFamilies[:1]
		}
		return nil
	}
	if n := len(spec.ClusterIPs); n > 0 && n < len(was.ClusterIPs) {
		errs = append(errs, field.Invalid(path, spec.IPFamilyPolicy,
			"must be 'SingleStack' to release the secondary cluster IP"))
	}
	if n := len(spec.IPFamilies); n > 0 && n < len(was.IPFamilies) {
		errs = append(errs, field.Invalid(path, spec.IPFamilyPolicy,
			"must be 'SingleStack' to release the secondary IP family"))
	}
	return errs
}

func rejectSecondFamily(spec *corev1.ServiceSpec) (errs field.ErrorList) {
	if *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		return nil
	}
	path := field.NewPath("spec", "ipFamilyPolicy")
	const must = "must be 'RequireDualStack' or 'PreferDualStack' when multiple %s are specified"
	if len(spec.ClusterIPs) == 2 {
		errs = append(errs, field.Invalid(path, spec.IPFamilyPolicy, fmt.Sprintf(must, "cluster IPs")))
	}
	if len(spec.IPFamilies) == 2 {
		errs = append(errs, field.Invalid(path, spec.IPFamilyPolicy, fmt.Sprintf(must, "IP families")))
	}
	return errs
}

// inferFamilies sets the missing families of addresses.
func inferFamilies(spec *corev1.ServiceSpec) (errs field.ErrorList) {
	for i, ip := range spec.ClusterIPs {
		if ip == corev1.ClusterIPNone {
			break
		}
		if i < len(spec.IPFamilies) {
			continue
		}
		if netutils.IsIPv6String(ip) {
			path := field.NewPath("spec", "clusterIPs").Index(i)
			errs = append(errs, field.Invalid(path, spec.ClusterIPs,
				fmt.Sprintf("%s is not configured on this cluster", corev1.IPv6Protocol)))
			continue
		}
		spec.IPFamilies = append(spec.IPFamilies, serviceFamily)
	}
	return errs
}

func assignHeadlessFamilies(spec *corev1.ServiceSpec) {
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{serviceFamily}
	}
	if len(spec.IPFamilies) == 1 && *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		other := corev1.IPv6Protocol
		if spec.IPFamilies[0] == other {
			other = corev1.IPv4Protocol
		}
		spec.IPFamilies = append(spec.IPFamilies, other)
	}
}

func rejectOtherFamilies(spec *corev1.ServiceSpec) (errs field.ErrorList) {
	path := field.NewPath("spec")
	if equality.Semantic.DeepEqual(spec.IPFamilyPolicy, new(corev1.IPFamilyPolicyRequireDualStack)) {
		errs = append(errs, field.Invalid(path.Child("ipFamilyPolicy"), spec.IPFamilyPolicy,
			"this cluster is not configured for dual-stack services"))
	}
	for i, family := range spec.IPFamilies {
		if family != serviceFamily {
			errs = append(errs, field.Invalid(path.Child("ipFamilies").Index(i), family,
				"not configured on this cluster"))
		}
	}
	return errs
}
