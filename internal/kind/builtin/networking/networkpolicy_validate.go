package networking

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

func validateNetworkPolicy(p, old *networkingv1.NetworkPolicy, _ string) field.ErrorList {
	var check policyCheck
	if old != nil {
		check.anyLabelValue = len(validateSelector(&old.Spec.PodSelector, false, nil)) > 0
		check.before = map[string]bool{}
		for _, block := range ipBlocks(&old.Spec) {
			check.before[block.CIDR] = true
			for _, except := range block.Except {
				check.before[except] = true
			}
		}
	}
	check.policy(&p.Spec, field.NewPath("spec"))
	return append(check.errs, check.missing...)
}

// policyCheck collects the errors of a network policy.
type policyCheck struct {
	errs    field.ErrorList
	missing field.ErrorList // the errors about missing CIDRs, which Kubernetes reports last
	// anyLabelValue reports that the old policy has an invalid selector of pods, stored under older, weaker rules. Its
	// update may set invalid label values in all selectors.
	anyLabelValue bool
	// before holds the CIDRs of the old object. An update may use each of them anywhere, even if it is invalid.
	before map[string]bool
}

func (c *policyCheck) full() bool { return len(c.errs)+len(c.missing) >= enough }

func (c *policyCheck) policy(spec *networkingv1.NetworkPolicySpec, path *field.Path) {
	c.selector(&spec.PodSelector, path.Child("podSelector"))
	for i := range spec.Ingress {
		at := path.Child("ingress").Index(i)
		c.ports(spec.Ingress[i].Ports, at.Child("ports"))
		c.peers(spec.Ingress[i].From, at.Child("from"))
	}
	for i := range spec.Egress {
		at := path.Child("egress").Index(i)
		c.ports(spec.Egress[i].Ports, at.Child("ports"))
		c.peers(spec.Egress[i].To, at.Child("to"))
	}
	types := path.Child("policyTypes")
	if len(spec.PolicyTypes) > 2 {
		c.errs = append(c.errs, field.Invalid(types, spec.PolicyTypes, "may not specify more than two policyTypes"))
		return
	}
	for i, t := range spec.PolicyTypes {
		c.errs = append(c.errs, fieldcheck.OneOf(types.Index(i), t,
			networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)...)
	}
}

func (c *policyCheck) ports(ports []networkingv1.NetworkPolicyPort, path *field.Path) {
	for i := range ports {
		if c.full() {
			return
		}
		c.errs = append(c.errs, validatePolicyPort(&ports[i], path.Index(i))...)
	}
}

// validatePolicyPort validates a port, or a range of ports if there is an endPort.
func validatePolicyPort(p *networkingv1.NetworkPolicyPort, path *field.Path) (errs field.ErrorList) {
	port, end := path.Child("port"), path.Child("endPort")
	if p.Protocol != nil {
		errs = append(errs, fieldcheck.OneOf(path.Child("protocol"), *p.Protocol,
			corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)...)
	}
	switch {
	case p.Port == nil:
		if p.EndPort != nil {
			errs = append(errs, field.Invalid(end, *p.EndPort, "may not be specified when `port` is not specified"))
		}
	case p.Port.Type != intstr.Int:
		if p.EndPort != nil {
			errs = append(errs, field.Invalid(end, *p.EndPort, "may not be specified when `port` is non-numeric"))
		}
		errs = append(errs, fieldcheck.Invalid(port, p.Port.StrVal, validation.IsValidPortName(p.Port.StrVal))...)
	default:
		errs = append(errs, fieldcheck.Port(port, *p.Port)...)
		if p.EndPort == nil {
			break
		}
		if *p.EndPort < p.Port.IntVal {
			errs = append(errs, field.Invalid(end, *p.EndPort, "must be greater than or equal to `port`"))
		}
		errs = append(errs, fieldcheck.Invalid(end, *p.EndPort, validation.IsValidPortNum(int(*p.EndPort)))...)
	}
	return errs
}

// peers validates the peers of a rule: pods, by labels of their own or of their namespaces, or a block of addresses.
func (c *policyCheck) peers(peers []networkingv1.NetworkPolicyPeer, path *field.Path) {
	for i := range peers {
		if c.full() {
			return
		}
		p, at := &peers[i], path.Index(i)
		if p.PodSelector != nil {
			c.selector(p.PodSelector, at.Child("podSelector"))
		}
		if p.NamespaceSelector != nil {
			c.selector(p.NamespaceSelector, at.Child("namespaceSelector"))
		}
		if p.IPBlock != nil {
			c.block(p.IPBlock, at.Child("ipBlock"))
		}
		switch pods := p.PodSelector != nil || p.NamespaceSelector != nil; {
		case p.IPBlock == nil && !pods:
			c.errs = append(c.errs, field.Required(at, "must specify a peer"))
		case p.IPBlock != nil && pods:
			c.errs = append(c.errs, field.Forbidden(at, "may not specify both ipBlock and another peer"))
		}
	}
}

// block validates a CIDR and the CIDRs that are excepted from it.
func (c *policyCheck) block(b *networkingv1.IPBlock, path *field.Path) {
	if b.CIDR == "" {
		c.missing = append(c.missing, field.Required(path.Child("cidr"), ""))
		return
	}
	c.cidr(path.Child("cidr"), b.CIDR)
	_, whole, err := netutils.ParseCIDRSloppy(b.CIDR)
	if err != nil {
		return
	}
	wholeBits, _ := whole.Mask.Size()
	for i, except := range b.Except {
		if c.full() {
			return
		}
		at := path.Child("except").Index(i)
		c.cidr(at, except)
		_, part, err := netutils.ParseCIDRSloppy(except)
		if err != nil {
			continue
		}
		if partBits, _ := part.Mask.Size(); !whole.Contains(part.IP) || partBits <= wholeBits {
			c.errs = append(c.errs, field.Invalid(at, except, "must be a strict subset of `cidr`"))
		}
	}
}

func (c *policyCheck) cidr(path *field.Path, cidr string) {
	if !c.before[cidr] {
		c.errs = append(c.errs, validation.IsValidCIDRForLegacyField(path, cidr, true, nil)...)
	}
}

func (c *policyCheck) selector(s *metav1.LabelSelector, path *field.Path) {
	c.errs = append(c.errs, validateSelector(s, c.anyLabelValue, path)...)
}

// validateSelector returns the errors of a label selector, like ValidateLabelSelector of k8s.io/apimachinery, but stops
// after enough errors.
func validateSelector(s *metav1.LabelSelector, anyValue bool, path *field.Path) (errs field.ErrorList) {
	for _, key := range fieldcheck.SortedKeys(s.MatchLabels) {
		if len(errs) >= enough {
			return errs
		}
		errs = append(errs, metavalidation.ValidateLabels(map[string]string{key: s.MatchLabels[key]},
			path.Child("matchLabels"))...)
	}
	for i, r := range s.MatchExpressions {
		at := path.Child("matchExpressions").Index(i)
		// The loop below validates the values.
		errs = append(errs, metavalidation.ValidateLabelSelectorRequirement(r,
			metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}, at)...)
		for j, value := range r.Values {
			if anyValue || len(errs) >= enough {
				break
			}
			errs = append(errs, fieldcheck.Invalid(at.Child("values").Index(j), value,
				validation.IsValidLabelValue(value))...)
		}
		if len(errs) >= enough {
			return errs
		}
	}
	return errs
}
