package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/kind"
)

// oldIngresses holds the conversions of ingresses, as Kubernetes 1.21 did them. The JSON and protobuf of ingresses are
// the same in both old versions, which therefore share a Go struct.
var oldIngresses = map[string]kind.Version[*networkingv1.Ingress]{
	beta1.String():      oldIngress(beta1),
	extensions.String(): oldIngress(extensions),
}

func oldIngress(gv schema.GroupVersion) kind.Version[*networkingv1.Ingress] {
	return kind.Version[*networkingv1.Ingress]{
		New: func() runtime.Object { return &networkingv1beta1.Ingress{} },
		ToHub: func(old runtime.Object) (*networkingv1.Ingress, error) {
			return upgradeIngress(old.(*networkingv1beta1.Ingress)), nil
		},
		FromHub: func(in *networkingv1.Ingress) (runtime.Object, error) {
			old := downgradeIngress(in.DeepCopy())
			old.SetGroupVersionKind(gv.WithKind("Ingress"))
			return old, nil
		},
	}
}

func upgradeIngress(old *networkingv1beta1.Ingress) *networkingv1.Ingress {
	in := &networkingv1.Ingress{
		ObjectMeta: old.ObjectMeta,
		Spec: networkingv1.IngressSpec{
			IngressClassName: old.Spec.IngressClassName,
			TLS: convertEach(old.Spec.TLS, func(t *networkingv1beta1.IngressTLS) networkingv1.IngressTLS {
				return networkingv1.IngressTLS(*t)
			}),
			Rules: convertEach(old.Spec.Rules, upgradeRule),
		},
	}
	if b := old.Spec.Backend; b != nil {
		in.Spec.DefaultBackend = new(upgradeBackend(b))
	}
	in.Status.LoadBalancer.Ingress = convertEach(old.Status.LoadBalancer.Ingress, upgradePoint)
	return in
}

func upgradePoint(p *networkingv1beta1.IngressLoadBalancerIngress) networkingv1.IngressLoadBalancerIngress {
	ports := convertEach(p.Ports, func(s *networkingv1beta1.IngressPortStatus) networkingv1.IngressPortStatus {
		return networkingv1.IngressPortStatus(*s)
	})
	return networkingv1.IngressLoadBalancerIngress{IP: p.IP, Hostname: p.Hostname, Ports: ports}
}

func upgradeRule(r *networkingv1beta1.IngressRule) networkingv1.IngressRule {
	rule := networkingv1.IngressRule{Host: r.Host}
	if r.HTTP != nil {
		rule.HTTP = &networkingv1.HTTPIngressRuleValue{Paths: convertEach(r.HTTP.Paths, upgradePath)}
	}
	return rule
}

// upgradePath sets the path type, which has a default in the old versions only.
func upgradePath(p *networkingv1beta1.HTTPIngressPath) networkingv1.HTTPIngressPath {
	pathType := networkingv1.PathTypeImplementationSpecific
	if p.PathType != nil {
		pathType = networkingv1.PathType(*p.PathType)
	}
	return networkingv1.HTTPIngressPath{Path: p.Path, PathType: &pathType, Backend: upgradeBackend(&p.Backend)}
}

// upgradeBackend returns a backend without a service if the old one has neither the name nor the port of a service.
// A port of the empty string counts as a port.
func upgradeBackend(b *networkingv1beta1.IngressBackend) networkingv1.IngressBackend {
	backend := networkingv1.IngressBackend{Resource: b.Resource}
	if b.ServiceName != "" || b.ServicePort != (intstr.IntOrString{}) {
		backend.Service = &networkingv1.IngressServiceBackend{
			Name: b.ServiceName,
			Port: networkingv1.ServiceBackendPort{Name: b.ServicePort.StrVal, Number: b.ServicePort.IntVal},
		}
	}
	return backend
}

func downgradeIngress(in *networkingv1.Ingress) *networkingv1beta1.Ingress {
	old := &networkingv1beta1.Ingress{
		ObjectMeta: in.ObjectMeta,
		Spec: networkingv1beta1.IngressSpec{
			IngressClassName: in.Spec.IngressClassName,
			TLS: convertEach(in.Spec.TLS, func(t *networkingv1.IngressTLS) networkingv1beta1.IngressTLS {
				return networkingv1beta1.IngressTLS(*t)
			}),
			Rules: convertEach(in.Spec.Rules, downgradeRule),
		},
	}
	if b := in.Spec.DefaultBackend; b != nil {
		old.Spec.Backend = new(downgradeBackend(b))
	}
	old.Status.LoadBalancer.Ingress = convertEach(in.Status.LoadBalancer.Ingress, downgradePoint)
	return old
}

func downgradePoint(p *networkingv1.IngressLoadBalancerIngress) networkingv1beta1.IngressLoadBalancerIngress {
	ports := convertEach(p.Ports, func(s *networkingv1.IngressPortStatus) networkingv1beta1.IngressPortStatus {
		return networkingv1beta1.IngressPortStatus(*s)
	})
	return networkingv1beta1.IngressLoadBalancerIngress{IP: p.IP, Hostname: p.Hostname, Ports: ports}
}

func downgradeRule(r *networkingv1.IngressRule) networkingv1beta1.IngressRule {
	rule := networkingv1beta1.IngressRule{Host: r.Host}
	if r.HTTP != nil {
		rule.HTTP = &networkingv1beta1.HTTPIngressRuleValue{Paths: convertEach(r.HTTP.Paths, downgradePath)}
	}
	return rule
}

func downgradePath(p *networkingv1.HTTPIngressPath) networkingv1beta1.HTTPIngressPath {
	return networkingv1beta1.HTTPIngressPath{
		Path: p.Path, PathType: (*networkingv1beta1.PathType)(p.PathType), Backend: downgradeBackend(&p.Backend),
	}
}

// downgradeBackend writes the port number 0 if the backend is not a service, because the old field has no form for
// "no port".
func downgradeBackend(b *networkingv1.IngressBackend) networkingv1beta1.IngressBackend {
	backend := networkingv1beta1.IngressBackend{Resource: b.Resource}
	if s := b.Service; s != nil {
		backend.ServiceName = s.Name
		backend.ServicePort = intstr.FromInt32(s.Port.Number)
		if s.Port.Name != "" {
			backend.ServicePort = intstr.FromString(s.Port.Name)
		}
	}
	return backend
}

// convertEach converts the elements of a list. The result is nil if the list is.
func convertEach[A, B any](list []A, convert func(*A) B) []B {
	if list == nil {
		return nil
	}
	converted := make([]B, len(list))
	for i := range list {
		converted[i] = convert(&list[i])
	}
	return converted
}
