package controller

import (
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider"
)

func network(cidr, gateway string) *v1.Network {
	return &v1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example", UID: "uid", Generation: 3},
		Spec:       v1.NetworkSpec{CIDR: cidr, Gateway: gateway},
	}
}

func TestWantedNetwork(t *testing.T) {
	t.Parallel()
	for _, spec := range []v1.NetworkSpec{
		{CIDR: "192.168.0.0/16", Gateway: "192.168.0.1"},
		{CIDR: "10.0.0.0/8", Gateway: "10.255.255.254"},
		{CIDR: "10.0.0.0/31", Gateway: "10.0.0.0"},
		{CIDR: "10.0.0.7/32", Gateway: "10.0.0.7"},
		{CIDR: "fd00::/64", Gateway: "fd00::ffff:ffff:ffff:ffff"},
	} {
		got, err := wanted(network(spec.CIDR, spec.Gateway))
		want := provider.Network{
			UID: "uid", Owner: "default/example",
			CIDR: netip.MustParsePrefix(spec.CIDR), Gateway: netip.MustParseAddr(spec.Gateway),
		}
		if err != nil || got != want {
			t.Errorf("%+v: got %+v, %v", spec, got, err)
		}
	}
}

func TestInvalidSpec(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cidr, gateway, says string }{
		{"", "10.0.0.1", "spec.cidr is required"},
		{"10.0.0.0", "10.0.0.1", `invalid spec.cidr "10.0.0.0"`},
		{"10.0.0.0/33", "10.0.0.1", "invalid spec.cidr"},
		{"::ffff:10.0.0.0/104", "10.0.0.1", "invalid spec.cidr"},
		{"10.0.0.5/8", "10.0.0.1", "use 10.0.0.0/8"},
		{"10.0.0.0/8", "", "spec.gateway is required: an address within 10.0.0.0/8"},
		{"10.0.0.0/8", "ten", `invalid spec.gateway "ten"`},
		{"10.0.0.0/8", "fe80::1%eth0", "invalid spec.gateway"},
		{"10.0.0.0/8", "11.0.0.1", "is not in spec.cidr 10.0.0.0/8"},
		{"10.0.0.0/8", "fd00::1", "is not in spec.cidr"},
		{"10.0.0.0/8", "10.0.0.0", "is the first or last address"},
		{"10.0.0.0/8", "10.255.255.255", "is the first or last address"},
		{"fd00::/64", "fd00::", "is the first or last address"},
	} {
		if got, err := wanted(network(c.cidr, c.gateway)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("cidr %q, gateway %q: got %+v, %v; want an error with %q", c.cidr, c.gateway, got, err,
				c.says)
		}
	}
}
