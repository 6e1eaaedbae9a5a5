package networking

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// ingressKind returns the kind of ingresses. The hub has no defaults: a path without a pathType is rejected.
func ingressKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "Ingress", List: "IngressList", Plural: "ingresses", Singular: "ingress", ShortNames: []string{"ing"},
		Namespaced: true,
		Generation: true,
		Endpoints: []kind.Endpoint{
			{Group: networkingv1.GroupName, Version: "v1"},
			oldEndpoint(beta1, "Ingress", &networkingv1beta1.Ingress{}),
			oldEndpoint(extensions, "Ingress", &extensionsv1beta1.Ingress{}),
		},
		Subresources: []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	}, kind.Rules[*networkingv1.Ingress]{
		Versions:       oldIngresses,
		Validate:       fieldcheck.WithFinalizers(validateIngress),
		Warnings:       ingressWarnings,
		StatusWarnings: ingressStatusWarnings,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Class", Type: "string",
				Description: "The name of the IngressClass resource that should be used for additional configuration"},
			{Name: "Hosts", Type: "string",
				Description: "Hosts that incoming requests are matched against before the ingress rule"},
			{Name: "Address", Type: "string",
				Description: "Address is a list containing ingress points for the load-balancer"},
			{Name: "Ports", Type: "string", Description: "Ports of TLS configurations that open"},
			kind.AgeColumn,
		},
		Row: ingressRow,
	})
}

func ingressRow(in *networkingv1.Ingress, now time.Time) []any {
	class, ports := nothing, "80"
	if in.Spec.IngressClassName != nil {
		class = *in.Spec.IngressClassName
	}
	if len(in.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	return []any{
		in.Name, class, formatHosts(in.Spec.Rules), formatAddresses(in.Status.LoadBalancer.Ingress), ports,
		kind.Age(in.CreationTimestamp.Time, now),
	}
}

// formatHosts formats the first three hosts and the number of remaining rules; "*" stands for any host.
func formatHosts(rules []networkingv1.IngressRule) string {
	const most = 3
	var hosts []string
	for _, rule := range rules {
		if len(hosts) == most {
			return fmt.Sprintf("%s + %d more...", strings.Join(hosts, ","), len(rules)-most)
		}
		if rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	return cmp.Or(strings.Join(hosts, ","), "*")
}

func formatAddresses(points []networkingv1.IngressLoadBalancerIngress) string {
	var addresses []string
	for _, p := range points {
		if a := cmp.Or(p.IP, p.Hostname); a != "" {
			addresses = append(addresses, a)
		}
	}
	slices.Sort(addresses)
	return strings.Join(slices.Compact(addresses), ",")
}
