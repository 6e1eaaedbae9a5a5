package networking

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// networkPolicyKind returns the kind of network policies, which list the connections that pods may accept and make.
func networkPolicyKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "NetworkPolicy", Plural: "networkpolicies", Singular: "networkpolicy", ShortNames: []string{"netpol"},
		Namespaced: true,
		Generation: true,
		Endpoints: []kind.Endpoint{
			{Group: networkingv1.GroupName, Version: "v1"},
			oldEndpoint(extensions, "NetworkPolicy", &extensionsv1beta1.NetworkPolicy{}),
		},
	}, kind.Rules[*networkingv1.NetworkPolicy]{
		Default:  defaultNetworkPolicy,
		Validate: fieldcheck.WithFinalizers(validateNetworkPolicy),
		Warnings: networkPolicyWarnings,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Pod-Selector", Type: "string",
				Description: networkingv1.NetworkPolicySpec{}.SwaggerDoc()["podSelector"]},
			kind.AgeColumn,
		},
		Row: func(p *networkingv1.NetworkPolicy, now time.Time) []any {
			pods := metav1.FormatLabelSelector(&p.Spec.PodSelector)
			return []any{p.Name, pods, kind.Age(p.CreationTimestamp.Time, now)}
		},
	})
}

// defaultNetworkPolicy makes a policy apply to incoming traffic, and to outgoing traffic if it has rules for it.
func defaultNetworkPolicy(p *networkingv1.NetworkPolicy) {
	spec := &p.Spec
	if len(spec.PolicyTypes) == 0 {
		spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(spec.Egress) > 0 {
			spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	for i := range spec.Ingress {
		defaultPorts(spec.Ingress[i].Ports)
	}
	for i := range spec.Egress {
		defaultPorts(spec.Egress[i].Ports)
	}
}

func defaultPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		if ports[i].Protocol == nil {
			ports[i].Protocol = new(corev1.ProtocolTCP)
		}
	}
}

// ipBlocks returns the blocks of addresses in the rules of a policy, with their paths.
func ipBlocks(spec *networkingv1.NetworkPolicySpec) iter.Seq2[*field.Path, *networkingv1.IPBlock] {
	path := field.NewPath("spec")
	return func(yield func(*field.Path, *networkingv1.IPBlock) bool) {
		all := func(peers []networkingv1.NetworkPolicyPeer, at *field.Path) bool {
			for i := range peers {
				if b := peers[i].IPBlock; b != nil && !yield(at.Index(i).Child("ipBlock"), b) {
					return false
				}
			}
			return true
		}
		for i := range spec.Ingress {
			if !all(spec.Ingress[i].From, path.Child("ingress").Index(i).Child("from")) {
				return
			}
		}
		for i := range spec.Egress {
			if !all(spec.Egress[i].To, path.Child("egress").Index(i).Child("to")) {
				return
			}
		}
	}
}

// networkPolicyWarnings warns about CIDRs that are not in canonical form.
func networkPolicyWarnings(p, _ *networkingv1.NetworkPolicy) (warnings []string) {
	for path, block := range ipBlocks(&p.Spec) {
		warnings = append(warnings, cidrWarnings(path.Child("cidr"), block.CIDR)...)
		for i, except := range block.Except {
			if len(warnings) >= enough {
				return warnings
			}
			warnings = append(warnings, cidrWarnings(path.Child("except").Index(i), except)...)
		}
	}
	return warnings
}

func cidrWarnings(path *field.Path, cidr string) []string {
	// An update may retain an invalid value, for which GetWarningsForCIDR would log a programming error.
	if _, _, err := netutils.ParseCIDRSloppy(cidr); err != nil {
		return nil
	}
	return validation.GetWarningsForCIDR(path, cidr)
}
