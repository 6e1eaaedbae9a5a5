package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

func serviceKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "Service", Plural: "services", Singular: "service",
		ShortNames: []string{"svc"}, Categories: []string{"all"},
		Namespaced:     true,
		CreateOnUpdate: true,
		ReturnsDeleted: true,
		Claims:         true,
		Endpoints: []kind.Endpoint{
			{Version: "v1", Selectable: map[string]string{"spec.clusterIP": "", "spec.type": ""}},
		},
		Subresources: []kind.Subresource{
			proxy("ServiceProxyOptions"),
			{Name: "status", Verbs: []string{"get", "patch", "update"}},
		},
		ValidName: apivalidation.NameIsDNSLabel,
	}, kind.Rules[*corev1.Service]{
		Default:  defaultService,
		Prepare:  prepareService,
		Validate: validateService,
		Warnings: serviceWarnings,
		StatusWarnings: func(s *corev1.Service) (warnings []string) {
			for i, in := range s.Status.LoadBalancer.Ingress {
				if in.IP != "" {
					warnings = append(warnings,
						validation.GetWarningsForIP(field.NewPath("status", "loadBalancer", "ingress").Index(i),
							in.IP)...)
				}
			}
			return warnings
		},
		Fields: func(s *corev1.Service) map[string]string {
			return map[string]string{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
		},
		Columns: serviceColumns,
		Row:     serviceRow,
		Assign:  assignService,
		Claims:  serviceClaims,
		Record:  recordAddress,
	})
}

func defaultService(s *corev1.Service) {
	spec := &s.Spec
	defaultAffinity(spec)
	if spec.Type == "" {
		spec.Type = corev1.ServiceTypeClusterIP
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if isExternal(spec) && spec.ExternalTrafficPolicy == "" {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if spec.InternalTrafficPolicy == nil && (spec.Type == corev1.ServiceTypeClusterIP || hasNodePorts(spec)) {
		spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		if spec.AllocateLoadBalancerNodePorts == nil {
			spec.AllocateLoadBalancerNodePorts = new(true)
		}
		for i := range s.Status.LoadBalancer.Ingress {
			if in := &s.Status.LoadBalancer.Ingress[i]; in.IP != "" && in.IPMode == nil {
				in.IPMode = new(corev1.LoadBalancerIPModeVIP)
			}
		}
	}
}

func defaultAffinity(spec *corev1.ServiceSpec) {
	switch spec.SessionAffinity {
	case "":
		spec.SessionAffinity = corev1.ServiceAffinityNone
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		c := spec.SessionAffinityConfig
		if c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{
				ClientIP: &corev1.ClientIPConfig{
					TimeoutSeconds: new(int32(corev1.DefaultClientIPServiceAffinitySeconds)),
				},
			}
		}
	}
}

// Properties of the types of services, for the rules in the other files.

func hasClusterIP(spec *corev1.ServiceSpec) bool { return spec.Type != corev1.ServiceTypeExternalName }

func hasNodePorts(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
}

func hasHealthCheckPort(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer &&
		spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func isExternal(spec *corev1.ServiceSpec) bool {
	return hasNodePorts(spec) || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
}

func headless(spec *corev1.ServiceSpec) bool {
	return len(spec.ClusterIPs) == 1 && spec.ClusterIPs[0] == corev1.ClusterIPNone
}

var serviceColumns = func() []metav1.TableColumnDefinition {
	doc := corev1.ServiceSpec{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		{Name: "Type", Type: "string", Description: doc["type"]},
		{Name: "Cluster-IP", Type: "string", Description: doc["clusterIP"]},
		{Name: "External-IP", Type: "string", Description: doc["externalIPs"]},
		{Name: "Port(s)", Type: "string", Description: doc["ports"]},
		kind.AgeColumn,
		{Name: "Selector", Type: "string", Description: doc["selector"], Priority: 1},
	}
}()

func serviceRow(s *corev1.Service, now time.Time) []any {
	ip := nothing
	if len(s.Spec.ClusterIPs) > 0 {
		ip = s.Spec.ClusterIPs[0]
	}
	return []any{
		s.Name, string(s.Spec.Type), ip, externalAddresses(s), formatPorts(s.Spec.Ports),
		kind.Age(s.CreationTimestamp.Time, now), labels.FormatLabels(s.Spec.Selector),
	}
}

// externalAddresses formats the addresses for access from outside the cluster.
func externalAddresses(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return cmp.Or(strings.Join(s.Spec.ExternalIPs, ","), nothing)
	case corev1.ServiceTypeLoadBalancer:
		addresses := append(balancerAddresses(s), s.Spec.ExternalIPs...)
		return cmp.Or(strings.Join(addresses, ","), "<pending>")
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	}
	return "<unknown>"
}

func balancerAddresses(s *corev1.Service) []string {
	set := map[string]bool{}
	for _, in := range s.Status.LoadBalancer.Ingress {
		if a := cmp.Or(in.IP, in.Hostname); a != "" {
			set[a] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func formatPorts(ports []corev1.ServicePort) string {
	shown := make([]string, len(ports))
	for i, p := range ports {
		shown[i] = fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		if p.NodePort > 0 {
			shown[i] = fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
		}
	}
	return cmp.Or(strings.Join(shown, ","), nothing)
}
