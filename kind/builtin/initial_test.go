//lint:file-ignore SA1019 Kubernetes has endpoints for its own service still

package builtin_test

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/kind/builtin"
	"github.com/bowline-dev/bowline/object"
)

// apiEndpoints are the endpoints, and the slice, of a server's own service.
func apiEndpoints(t *testing.T, at netip.AddrPort) (endpoints, slice kind.Initial) {
	t.Helper()
	for _, i := range builtin.Initial("", at) {
		switch i.Object.(type) {
		case *corev1.Endpoints:
			endpoints = i
		case *discoveryv1.EndpointSlice:
			slice = i
		}
	}
	return endpoints, slice
}

// TestTheAPIsServiceLeadsToTheServer: what a kube-apiserver makes (pkg/controlplane/reconcilers).
func TestTheAPIsServiceLeadsToTheServer(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"10.1.0.1:6443", "[2001:db8::1]:443"} {
		endpoints, slice := apiEndpoints(t, netip.MustParseAddrPort(at))
		e, s := endpoints.Object.(*corev1.Endpoints), slice.Object.(*discoveryv1.EndpointSlice)
		want := netip.MustParseAddrPort(at)
		if got := e.Subsets[0]; got.Addresses[0].IP != want.Addr().String() || got.Ports[0].Port != int32(want.Port()) {
			t.Errorf("%s: %v", at, got)
		}
		if s.Endpoints[0].Addresses[0] != want.Addr().String() || *s.Ports[0].Port != int32(want.Port()) || s.Labels["kubernetes.io/service-name"] != "kubernetes" {
			t.Errorf("%s: %v", at, s)
		}
		for _, k := range builtin.Kinds(object.NewCache(1)) {
			for _, i := range []kind.Initial{endpoints, slice} {
				if k.Info().Kind != i.Object.GetObjectKind().GroupVersionKind().Kind {
					continue
				}
				if errs := k.Validate(t.Context(), i.Object, nil, ""); len(errs) > 0 || i.OnlyCorrect {
					t.Errorf("%s: %s: %v", at, k.Info().Kind, errs)
				}
			}
		}
	}
}

// TestTheAPIsEndpointsFollowTheServer from one start to the next.
func TestTheAPIsEndpointsFollowTheServer(t *testing.T) {
	t.Parallel()
	first := netip.MustParseAddrPort("10.1.0.1:6443")
	for name, c := range map[string]struct {
		now     netip.AddrPort
		changed bool
		left    int // endpoints of the slice
	}{
		"the same":              {first, false, 1},
		"another port":          {netip.MustParseAddrPort("10.1.0.1:7443"), true, 1},
		"another address":       {netip.MustParseAddrPort("10.1.0.2:6443"), true, 1},
		"another family":        {netip.MustParseAddrPort("[2001:db8::1]:6443"), true, 0},
		"reached by nobody now": {netip.AddrPortFrom(netip.Addr{}, 6443), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoints, slice := apiEndpoints(t, c.now)
			e, s := apiEndpoints(t, first)
			if got := endpoints.Correct(e.Object); got != c.changed {
				t.Errorf("endpoints were changed: %v", got)
			}
			if got := slice.Correct(s.Object); got != c.changed || len(s.Object.(*discoveryv1.EndpointSlice).Endpoints) != c.left {
				t.Errorf("the slice was changed: %v, %v", got, s.Object)
			}
			if endpoints.Correct(e.Object) || slice.Correct(s.Object) {
				t.Error("changed again")
			}
			if made := !endpoints.OnlyCorrect && !slice.OnlyCorrect; made != c.now.Addr().IsValid() {
				t.Errorf("made where they are not: %v", made)
			}
		})
	}
}
