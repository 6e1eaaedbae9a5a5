package nginx

import (
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

func TestRequestsReachTheBackendsThatIngressesDeclare(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if got := l.get("example.com", "/"); got != "404" {
		t.Errorf("with nothing declared: %s", got)
	}
	l.create(service("web"), endpoints("web", backendServer(t, "web")), newIngress("web").prefix("example.com", "/", "web").Ingress)
	l.serves("example.com", "/any/path", "web")
	if got := l.get("other.example.com", "/"); got != "404" {
		t.Errorf("for another host: %s", got)
	}
	l.create(service("api"), newIngress("api").prefix("example.com", "/api", "api").Ingress)
	l.serves("example.com", "/api/x", "503")
	l.create(endpoints("api", backendServer(t, "api")))
	l.serves("example.com", "/api/x", "api")
	update(l, "api-slice", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = pointer(false) })
	l.serves("example.com", "/api/x", "503")
	remove[*networkingv1.Ingress](l, "api")
	l.serves("example.com", "/api/x", "web")
}
