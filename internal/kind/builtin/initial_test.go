//lint:file-ignore SA1019 Kubernetes has endpoints for its own service still

package builtin_test

import (
	"maps"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// apiEndpoints returns the endpoints and the slice of a server's own service.
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

// TestAPIEndpoints compares the endpoints with those that a kube-apiserver creates
// (pkg/controlplane/reconcilers).
func TestAPIEndpoints(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"10.1.0.1:6443", "[2001:db8::1]:443"} {
		endpoints, slice := apiEndpoints(t, netip.MustParseAddrPort(at))
		e, s := endpoints.Object.(*corev1.Endpoints), slice.Object.(*discoveryv1.EndpointSlice)
		want := netip.MustParseAddrPort(at)
		if got := e.Subsets[0]; got.Addresses[0].IP != want.Addr().String() || got.Ports[0].Port != int32(want.Port()) {
			t.Errorf("%s: the endpoints have %v", at, got)
		}
		got, port := s.Endpoints[0], *s.Ports[0].Port
		if got.Addresses[0] != want.Addr().String() || !*got.Conditions.Ready || port != int32(want.Port()) {
			t.Errorf("%s: the slice is %v", at, s)
		}
		if e.Labels["endpointslice.kubernetes.io/skip-mirror"] != "true" ||
			s.Labels["kubernetes.io/service-name"] != "kubernetes" {
			t.Errorf("%s: the endpoints have the labels %v, and the slice %v", at, e.Labels, s.Labels)
		}
		for _, i := range []kind.Initial{endpoints, slice} {
			if errs := kindOf(t, i.Object).Validate(t.Context(), i.Object, nil, ""); len(errs) > 0 || i.OnlyCorrect {
				t.Errorf("%s: %T: errors %v, OnlyCorrect %t", at, i.Object, errs, i.OnlyCorrect)
			}
		}
	}
}

func kindOf(t *testing.T, obj kind.Object) kind.Kind {
	t.Helper()
	for _, k := range builtin.Kinds(object.NewCache(1)) {
		if k.Info().Kind == obj.GetObjectKind().GroupVersionKind().Kind {
			return k
		}
	}
	t.Fatalf("%T is of no kind", obj)
	return nil
}

// TestAPIEndpointsUpdate checks the update of the endpoints when the server's address changes
// between starts.
func TestAPIEndpointsUpdate(t *testing.T) {
	t.Parallel()
	first := netip.MustParseAddrPort("10.1.0.1:6443")
	for name, c := range map[string]struct {
		now     netip.AddrPort
		changed bool
		left    int // endpoints of the slice
	}{
		"the same":        {first, false, 1},
		"another port":    {netip.MustParseAddrPort("10.1.0.1:7443"), true, 1},
		"another address": {netip.MustParseAddrPort("10.1.0.2:6443"), true, 1},
		"no address":      {netip.AddrPortFrom(netip.Addr{}, 6443), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoints, slice := apiEndpoints(t, c.now)
			e, s := apiEndpoints(t, first)
			if slice.NeedsReplacement(s.Object) {
				t.Error("the slice needs replacement, but only another family does that")
			}
			if got := endpoints.Correct(e.Object); got != c.changed {
				t.Errorf("the endpoints were changed: %t, want %t", got, c.changed)
			}
			if got := slice.Correct(s.Object); got != c.changed ||
				len(s.Object.(*discoveryv1.EndpointSlice).Endpoints) != c.left {
				t.Errorf("the slice was changed: %t, want %t; it has %v", got, c.changed, s.Object)
			}
			if endpoints.Correct(e.Object) || slice.Correct(s.Object) {
				t.Error("a second correction changed something")
			}
			if unreached := !c.now.Addr().IsValid(); endpoints.OnlyCorrect != unreached ||
				slice.OnlyCorrect != unreached {
				t.Errorf("OnlyCorrect is %t for the endpoints and %t for the slice, want %t", endpoints.OnlyCorrect,
					slice.OnlyCorrect, unreached)
			}
		})
	}
}

// TestAPISliceIsReplacedForNewFamily checks that a slice of the other IP family is replaced, because its
// address type is immutable.
func TestAPISliceIsReplacedForNewFamily(t *testing.T) {
	t.Parallel()
	_, old := apiEndpoints(t, netip.MustParseAddrPort("10.1.0.1:6443"))
	_, now := apiEndpoints(t, netip.MustParseAddrPort("[2001:db8::1]:6443"))
	if !now.NeedsReplacement(old.Object) || now.NeedsReplacement(now.Object) {
		t.Errorf("needs replacement: a slice of the other family %t, one of the same family %t",
			now.NeedsReplacement(old.Object), now.NeedsReplacement(now.Object))
	}
	_, unreached := apiEndpoints(t, netip.AddrPortFrom(netip.Addr{}, 6443))
	if unreached.NeedsReplacement(now.Object) {
		t.Error("a server without an address replaces the slice")
	}
}

// TestAPIEndpointsLabels checks that missing labels are restored and other labels retained.
func TestAPIEndpointsLabels(t *testing.T) {
	t.Parallel()
	endpoints, slice := apiEndpoints(t, netip.MustParseAddrPort("10.1.0.1:6443"))
	for _, i := range []kind.Initial{endpoints, slice} {
		stored := i.Object.DeepCopyObject().(kind.Object)
		stored.SetLabels(map[string]string{"mine": "1"})
		if !i.Correct(stored) || i.Correct(stored) {
			t.Errorf("%T: the labels were not corrected by the first call, or again by the second", stored)
		}
		want := maps.Clone(i.Object.GetLabels())
		want["mine"] = "1"
		if got := stored.GetLabels(); !maps.Equal(got, want) {
			t.Errorf("%T: labels %v, want %v", stored, got, want)
		}
	}
}
