//lint:file-ignore SA1019 Kubernetes serves its deprecated endpoints still

package core

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestEndpointsRules checks the rules of validateEndpointSubsets (pkg/apis/core/validation). The responses of
// a real server are in internal/golden/testdata/endpoints.json.
func TestEndpointsRules(t *testing.T) {
	t.Parallel()
	const ip = `"addresses":[{"ip":"10.1.0.1"}]`
	subset := func(fields string) string { return `{"subsets":[{` + fields + `}]}` }
	check(t, "endpoints", []rule{
		{name: "none", body: `{}`},
		{name: "an address without a port", body: subset(ip)},
		{name: "an address that is not ready",
			body: subset(`"notReadyAddresses":[{"ip":"10.1.0.1"}],"ports":[{"port":80}]`)},
		{name: "a port without an address", body: subset(`"ports":[{"port":80}]`),
			want: []string{"subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"}},
		{name: "no address", body: subset(`"addresses":[{}]`), want: []string{
			`subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
			`subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address`}},
		{name: "a node's own address", body: subset(`"addresses":[{"ip":"127.0.0.1"}]`),
			want: []string{`subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`}},
		{name: "an address of nobody", body: subset(`"addresses":[{"ip":"0.0.0.0"}]`),
			want: []string{`subsets[0].addresses[0].ip: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)`}},
		{name: "an address of a link", body: subset(`"notReadyAddresses":[{"ip":"169.254.0.1"},{"ip":"224.0.0.5"}]`),
			want: []string{
				`subsets[0].notReadyAddresses[0].ip: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)`,
				`subsets[0].notReadyAddresses[1].ip: Invalid value: "224.0.0.5": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)`}},
		{name: "two ports, one without a name", body: subset(ip + `,"ports":[{"port":80},{"port":81,"name":"a"}]`),
			want: []string{"subsets[0].ports[0].name: Required value"}},
		{name: "a port of no number", body: subset(ip + `,"ports":[{"protocol":"ICMP"}]`), want: []string{
			"subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
			`subsets[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"`}},
	})
}

func TestStoredEndpointsRemainValid(t *testing.T) {
	t.Parallel()
	k := endpointsKind(object.NewCache(1))
	old := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "127.0.0.1"}}}}}
	changed := old.DeepCopy()
	changed.Labels = map[string]string{"a": "b"}
	if errs := k.Validate(t.Context(), changed, old, ""); len(errs) > 0 {
		t.Errorf("an update of a label is rejected: %v", errs)
	}
	changed.Subsets[0].Addresses[0].Hostname = "a"
	if errs := k.Validate(t.Context(), changed, old, ""); len(errs) != 1 {
		t.Errorf("errors of an update of an address %v, want 1", errs)
	}
}

func TestEndpointsWarnings(t *testing.T) {
	t.Parallel()
	e := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{
		Addresses:         []corev1.EndpointAddress{{IP: "10.1.0.1"}},
		NotReadyAddresses: []corev1.EndpointAddress{{IP: "2001:DB8::1"}},
	}}}
	want := []string{`subsets[0].notReadyAddresses[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`}
	if got := endpointsWarnings(e, nil); !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
	e.Labels = map[string]string{"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
	if got := endpointsWarnings(e, nil); len(got) > 0 {
		t.Errorf("endpoints of Kubernetes' controller cause warnings: %q", got)
	}
}

func TestEndpointsRows(t *testing.T) {
	t.Parallel()
	addresses := func(ips ...string) (all []corev1.EndpointAddress) {
		for _, ip := range ips {
			all = append(all, corev1.EndpointAddress{IP: ip})
		}
		return all
	}
	ports := []corev1.EndpointPort{{Port: 80}, {Port: 443}}
	for want, subsets := range map[string][]corev1.EndpointSubset{
		"<none>":                             nil,
		"":                                   {{NotReadyAddresses: addresses("10.1.0.1"), Ports: ports}},
		"10.1.0.1,10.1.0.2":                  {{Addresses: addresses("10.1.0.1", "10.1.0.2")}},
		"10.1.0.1:80,10.1.0.1:443":           {{Addresses: addresses("10.1.0.1"), Ports: ports}},
		"[2001:db8::1]:80,[2001:db8::1]:443": {{Addresses: addresses("2001:db8::1"), Ports: ports}},
		"a:80,b:80,a:443 + 2 more...": {{Addresses: addresses("a", "b"), Ports: ports},
			{Addresses: addresses("c")}},
	} {
		row, err := endpointsKind(object.NewCache(1)).Row(&corev1.Endpoints{Subsets: subsets}, "v1", time.Now())
		if err != nil || row[1] != want {
			t.Errorf("row %v (%v), want the addresses %q", row, err, want)
		}
	}
}
