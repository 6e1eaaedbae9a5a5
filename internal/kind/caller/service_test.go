package caller_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/caller"
)

// state is a fixed set of objects.
type state []kind.Object

func (s state) Get(_ context.Context, _ schema.GroupResource, namespace, name string) (kind.Object, error) {
	for _, o := range s {
		if service, ok := o.(*corev1.Service); ok && service.Namespace == namespace && service.Name == name {
			return o, nil
		}
	}
	return nil, nil
}

func (s state) List(_ context.Context, _ schema.GroupResource, namespace string, yield func(kind.Object) bool) error {
	for _, o := range s {
		if slice, ok := o.(*discoveryv1.EndpointSlice); ok && slice.Namespace == namespace && !yield(o) {
			break
		}
	}
	return nil
}

func service(change func(*corev1.ServiceSpec)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hook"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.7",
		Ports: []corev1.ServicePort{{Name: "web", Port: 80}, {Name: "hook", Port: 443}},
	}}
	if change != nil {
		change(&s.Spec)
	}
	return s
}

// slice returns endpoints for the named port 8443; those with a "!" are not ready.
func slice(of, port string, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: of,
			Labels: map[string]string{discoveryv1.LabelServiceName: of}},
		Ports: []discoveryv1.EndpointPort{{Name: &port, Port: new(int32(8443))}},
	}
	for _, a := range addresses {
		address, unready := strings.CutPrefix(a, "!")
		ready := !unready
		s.Endpoints = append(s.Endpoints,
			discoveryv1.Endpoint{Addresses: []string{address},
				Conditions: discoveryv1.EndpointConditions{Ready: &ready}})
	}
	return s
}

// TestServiceAddress checks which of a ready endpoint, the cluster IP and the external name ResolveServices returns.
func TestServiceAddress(t *testing.T) {
	t.Parallel()
	headless := service(func(s *corev1.ServiceSpec) { s.ClusterIP = corev1.ClusterIPNone })
	for name, s := range map[string]struct {
		state state
		port  int32
		want  string // an address, or what an error has
	}{
		"cluster IP": {state{service(nil)}, 443, "10.0.0.7:443"},
		"IPv6": {state{service(func(s *corev1.ServiceSpec) {
			s.ClusterIP = "fd00::7"
		})}, 443, "[fd00::7]:443"},
		"external name": {state{service(func(s *corev1.ServiceSpec) {
			s.Type, s.ExternalName = corev1.ServiceTypeExternalName, "example.com"
		})}, 8080, "example.com:8080"},
		"endpoint": {state{service(nil), slice("hook", "hook", "!192.0.2.1", "192.0.2.2")}, 443,
			"192.0.2.2:8443"},
		"endpoint, headless":        {state{headless, slice("hook", "hook", "192.0.2.2")}, 443, "192.0.2.2:8443"},
		"no endpoint is ready":      {state{service(nil), slice("hook", "hook", "!192.0.2.1")}, 443, "10.0.0.7:443"},
		"endpoints of another port": {state{service(nil), slice("hook", "web", "192.0.2.2")}, 443, "10.0.0.7:443"},
		"another's endpoints":       {state{service(nil), slice("other", "hook", "192.0.2.2")}, 443, "10.0.0.7:443"},
		"headless":                  {state{headless}, 443, `cannot route to service with ClusterIP "None"`},
		"no such port":              {state{service(nil)}, 8443, `no service port 8443 found for service "hook"`},
		"no such service":           {state{}, 443, `service "hook" not found`},
	} {
		got, err := caller.ResolveServices(t.Context(), s.state)("default", "hook", s.port)
		if err != nil {
			got = err.Error()
		}
		if got != s.want {
			t.Errorf("%s: %s, want %s", name, got, s.want)
		}
	}
}

// TestResolverPicksRandomEndpoint checks that ResolveServices picks among several endpoints at random.
func TestResolverPicksRandomEndpoint(t *testing.T) {
	t.Parallel()
	find := caller.ResolveServices(t.Context(), state{service(nil), slice("hook", "hook", "192.0.2.1", "192.0.2.2")})
	seen := map[string]bool{}
	for range 200 {
		at, err := find("default", "hook", 443)
		if err != nil {
			t.Fatal(err)
		}
		seen[at] = true
	}
	if len(seen) != 2 {
		t.Errorf("200 calls found only %v, want both endpoints", seen)
	}
}
