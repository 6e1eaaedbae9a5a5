package discovery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

func read(t *testing.T, body string) *discoveryv1.EndpointSlice {
	t.Helper()
	obj, strict, err := sliceKind().DecodeRequest(object.Form{APIVersion: "discovery.k8s.io/v1"}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	return obj.(*discoveryv1.EndpointSlice)
}

func sliceKind() kind.Kind { return endpointSliceKind(object.NewCache(1)) }

// slice returns a slice with a type, one endpoint with these fields, and these ports.
func slice(of, endpoint string, ports ...string) string {
	return fmt.Sprintf(`{"addressType":%q,"endpoints":[{%s}],"ports":[%s]}`, of, endpoint, strings.Join(ports, ","))
}

// many repeats a text n times, replacing %d by the index.
func many(n int, text string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(text, "%d", fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

// rule is a slice, optionally with its old state, and the expected errors.
type rule struct {
	name, body, old string
	want            []string
}

// check checks the rules of ValidateEndpointSlice (pkg/apis/discovery/validation). The responses of a real
// server are in internal/golden/testdata/endpoints.json.
func check(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if r.old != "" {
				old = read(t, r.old)
			}
			var got []string
			for _, e := range sliceKind().Validate(t.Context(), read(t, r.body), old, "") {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndpointSliceTypes(t *testing.T) {
	t.Parallel()
	const one = `"addresses":["10.1.0.1"]`
	check(t, []rule{
		{name: "an endpoint", body: slice("IPv4", one, `{"port":80}`)},
		{name: "nothing to reach", body: `{"addressType":"IPv6"}`},
		{name: "no type", body: `{}`, want: []string{"addressType: Required value"}},
		{name: "an unknown type", body: `{"addressType":"IP"}`,
			want: []string{`addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"`}},
		{name: "another type", body: `{"addressType":"IPv6"}`, old: `{"addressType":"IPv4"}`,
			want: []string{`addressType: Invalid value: "IPv6": field is immutable`}},
	})
}

func TestEndpointSliceAddresses(t *testing.T) {
	t.Parallel()
	check(t, []rule{
		{name: "no address", body: slice("IPv4", ""),
			want: []string{"endpoints[0].addresses: Required value: must contain at least 1 address"}},
		{name: "a hundred addresses", body: slice("IPv4", `"addresses":[`+many(100, `"10.1.0.%d"`)+`]`)},
		{name: "one more", body: slice("IPv4", `"addresses":[`+many(101, `"10.1.0.%d"`)+`]`),
			want: []string{"endpoints[0].addresses: Too many: 101: must have at most 100 items"}},
		{name: "an IPv6 address of IPv4", body: slice("IPv4", `"addresses":["2001:db8::1"]`),
			want: []string{`endpoints[0].addresses: Invalid value: "2001:db8::1": must be an IPv4 address`}},
		{name: "an IPv4 address of IPv6", body: slice("IPv6", `"addresses":["10.1.0.1"]`),
			want: []string{`endpoints[0].addresses: Invalid value: "10.1.0.1": must be an IPv6 address`}},
		{name: "an IPv6 address in another form", body: slice("IPv6", `"addresses":["2001:DB8::1"]`),
			want: []string{`endpoints[0].addresses[0]: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")`}},
		{name: "leading zeros", body: slice("IPv4", `"addresses":["010.1.0.1"]`),
			want: []string{`endpoints[0].addresses[0]: Invalid value: "010.1.0.1": must not have leading 0s`}},
		{name: "a node's own address", body: slice("IPv4", `"addresses":["127.0.0.1"]`),
			want: []string{`endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`}},
		{name: "a name", body: slice("FQDN", `"addresses":["example.com"]`)},
		{name: "a short name", body: slice("FQDN", `"addresses":["web"]`),
			want: []string{`endpoints[0].addresses[0]: Invalid value: "web": should be a domain with at least two segments separated by dots`}},
		{name: "a bad address that was there", body: slice("IPv4", `"addresses":["127.0.0.1"]`),
			old: slice("IPv4", `"addresses":["127.0.0.1"]`)},
	})
}

func TestEndpointSliceBoundsAndPorts(t *testing.T) {
	t.Parallel()
	const one = `"addresses":["10.1.0.1"]`
	check(t, []rule{
		{name: "a thousand endpoints", body: `{"addressType":"IPv4","endpoints":[` + many(1000, "{"+one+"}") + `]}`},
		{name: "one more endpoint", body: `{"addressType":"IPv4","endpoints":[` + many(1001, "{"+one+"}") + `]}`,
			want: []string{"endpoints: Too many: 1001: must have at most 1000 items"}},
		{name: "one more port", body: `{"addressType":"IPv4","ports":[` + many(20001, `{"name":"p%d"}`) + `]}`,
			want: []string{"ports: Too many: 20001: must have at most 20000 items"}},
		{name: "two ports without names", body: slice("IPv4", one, "{}", "{}"),
			want: []string{`ports[1].name: Duplicate value: ""`}},
		{name: "an unknown protocol", body: slice("IPv4", one, `{"protocol":"ICMP"}`),
			want: []string{`ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"`}},
	})
}

func TestEndpointSliceHints(t *testing.T) {
	t.Parallel()
	const one = `"addresses":["10.1.0.1"]`
	check(t, []rule{
		{name: "zones and nodes",
			body: slice("IPv4",
				one+`,"zone":"z","nodeName":"n","hints":{"forZones":[{"name":"z"}],"forNodes":[{"name":"n"}]}`)},
		{name: "zones and nodes twice",
			body: slice("IPv4",
				one+`,"hints":{"forZones":[{"name":"z"},{"name":"z"}],"forNodes":[{"name":"n"},{"name":"n"}]}`),
			want: []string{`endpoints[0].hints.forZones[1].name: Duplicate value: "z"`,
				`endpoints[0].hints.forNodes[1].name: Duplicate value: "n"`}},
		{name: "nine zones", body: slice("IPv4", one+`,"hints":{"forZones":[`+many(9, `{"name":"z%d"}`)+`]}`),
			want: []string{"endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"}},
		{name: "nine nodes", body: slice("IPv4", one+`,"hints":{"forNodes":[`+many(9, `{"name":"n%d"}`)+`]}`),
			want: []string{"endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items"}},
	})
}

func TestEndpointSliceDefaults(t *testing.T) {
	t.Parallel()
	p := read(t, slice("IPv4", "", `{"port":80}`)).Ports[0]
	if *p.Name != "" || *p.Protocol != "TCP" || p.AppProtocol != nil {
		t.Errorf("the defaults of a port are %v", p)
	}
}

// TestLabelsIncreaseGeneration checks that a change of the labels increases the generation.
func TestLabelsIncreaseGeneration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *discoveryv1.EndpointSlice)
		want   int64
	}{
		"nothing":     {func(*discoveryv1.EndpointSlice) {}, 7},
		"annotations": {func(s *discoveryv1.EndpointSlice) { s.Annotations = map[string]string{"a": "b"} }, 7},
		"labels":      {func(s *discoveryv1.EndpointSlice) { s.Labels = map[string]string{"a": "b"} }, 8},
		"endpoints":   {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = "10.1.0.2" }, 8},
		"both":        {func(s *discoveryv1.EndpointSlice) { s.Labels, s.Ports = map[string]string{"a": "b"}, nil }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := read(t, slice("IPv4", `"addresses":["10.1.0.1"]`, `{"port":80}`))
			old.Generation = 7
			s := old.DeepCopy()
			c.change(s)
			sliceKind().Prepare(s, old, "")
			if s.Generation != c.want {
				t.Errorf("generation %d, want %d", s.Generation, c.want)
			}
		})
	}
}

func TestDeprecatedTopologyIsDropped(t *testing.T) {
	t.Parallel()
	s := read(t, slice("IPv4", `"addresses":["10.1.0.1"],"deprecatedTopology":{"kubernetes.io/hostname":"n"}`))
	sliceKind().Prepare(s, nil, "")
	if e := s.Endpoints[0]; e.DeprecatedTopology != nil || e.NodeName != nil {
		t.Errorf("the create retained the topology or moved it: %v", e)
	}
}

func TestEndpointSliceWarnings(t *testing.T) {
	t.Parallel()
	const canonical = `endpoints[0].addresses[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`
	odd := read(t, slice("IPv6", `"addresses":["2001:DB8::1"]`))
	if got := sliceKind().Warnings(odd, odd, ""); !slices.Equal(got, []string{canonical}) {
		t.Errorf("warnings of an odd address %q, want %q", got, canonical)
	}
	odd.Labels = map[string]string{discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}
	if got := sliceKind().Warnings(odd, nil, ""); len(got) > 0 {
		t.Errorf("an odd address of Kubernetes' controller causes warnings: %q", got)
	}
	names := read(t, slice("FQDN", `"addresses":["example.com","1.2.3.4"]`))
	if got := sliceKind().Warnings(names, nil, ""); !slices.Equal(got,
		[]string{"spec.addressType: FQDN endpoints are deprecated"}) {
		t.Errorf("warnings of names %q, want that they are deprecated", got)
	}
	if got := sliceKind().Warnings(names, names, ""); len(got) > 0 {
		t.Errorf("an update of names warns again: %q", got)
	}
	const zeros = `endpoints[0].addresses[1]: non-standard IP address "1.2.3.04" is invalid: use "1.2.3.4"`
	addresses := read(t, slice("FQDN", `"addresses":["example.com","1.2.3.04"]`))
	if got := sliceKind().Warnings(addresses, addresses, ""); !slices.Equal(got, []string{zeros}) {
		t.Errorf("warnings of a name that is an address %q, want %q", got, zeros)
	}
}

func TestEndpointSliceRows(t *testing.T) {
	t.Parallel()
	now := time.Now()
	const two, four = `"addresses":["10.1.0.1","10.1.0.2"]`, `"addresses":["10.1.0.1","10.1.0.2","10.1.0.3","10.1.0.4"]`
	for body, want := range map[string][2]string{
		`{"addressType":"IPv4"}`: {"<unset>", "<unset>"},

		slice("IPv4", two, `{"port":80}`, `{"name":"any"}`): {"80,any", "10.1.0.1,10.1.0.2"},

		slice("IPv4", four, many(5, `{"name":"p%d","port":8}`)): {"8,8,8 + 2 more...",
			"10.1.0.1,10.1.0.2,10.1.0.3 + 1 more..."},
	} {
		row, err := sliceKind().Row(read(t, body), "discovery.k8s.io/v1", now)
		if err != nil || row[2] != want[0] || row[3] != want[1] {
			t.Errorf("%s: row %v (%v), want the ports and addresses %q", body, row, err, want)
		}
	}
}
