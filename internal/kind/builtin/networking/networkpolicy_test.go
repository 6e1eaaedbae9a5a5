package networking

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

func networkPolicies() kind.Kind { return networkPolicyKind(object.NewCache(1 << 20)) }

// from returns a policy with a rule for incoming traffic from these peers.
func from(peers ...string) string {
	return `{"spec":{"ingress":[{"from":[` + strings.Join(peers, ",") + `]}]}}`
}

// to returns a policy with a rule for outgoing traffic to these peers.
func to(peers ...string) string {
	return `{"spec":{"egress":[{"to":[` + strings.Join(peers, ",") + `]}]}}`
}

// block returns a peer that is a block of addresses.
func block(cidr string, except ...string) string {
	quoted, _ := json.Marshal(except)
	return `{"ipBlock":{"cidr":"` + cidr + `","except":` + string(quoted) + `}}`
}

// TestNetworkPolicyPorts and the next tests check the rules of ValidateNetworkPolicy and ValidateNetworkPolicyUpdate
// (pkg/apis/networking/validation).
func TestNetworkPolicyPorts(t *testing.T) {
	t.Parallel()
	const at = "spec.ingress[0].ports[0]."
	ports := func(fields string) string { return `{"spec":{"ingress":[{"ports":[{` + fields + `}]}]}}` }
	check(t, networkPolicies(), []rule{
		{name: "all ports", body: ports("")},
		{name: "a number", body: ports(`"port":80,"protocol":"UDP"`)},
		{name: "a name", body: ports(`"port":"http","protocol":"SCTP"`)},
		{name: "a range", body: ports(`"port":80,"endPort":80`)},
		{name: "an unknown protocol", body: ports(`"protocol":"ICMP"`),
			want: []string{at + `protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"`}},
		{name: "a number out of range", body: ports(`"port":0`),
			want: []string{at + "port: Invalid value: 0: must be between 1 and 65535, inclusive"}},
		{name: "a name without a letter", body: ports(`"port":"80"`),
			want: []string{at + `port: Invalid value: "80": must contain at least one letter (a-z)`}},
		{name: "a range that ends before it starts", body: ports(`"port":80,"endPort":79`),
			want: []string{at + "endPort: Invalid value: 79: must be greater than or equal to `port`"}},
		{name: "a range that ends out of range", body: ports(`"port":80,"endPort":65536`),
			want: []string{at + "endPort: Invalid value: 65536: must be between 1 and 65535, inclusive"}},
		{name: "a range that starts with a name", body: ports(`"port":"http","endPort":80`),
			want: []string{at + "endPort: Invalid value: 80: may not be specified when `port` is non-numeric"}},
		{name: "a range without a start", body: ports(`"endPort":80`),
			want: []string{at + "endPort: Invalid value: 80: may not be specified when `port` is not specified"}},
		{name: "ports of outgoing traffic", body: `{"spec":{"egress":[{},{"ports":[{},{"port":-1}]}]}}`,
			want: []string{"spec.egress[1].ports[1].port: Invalid value: -1: must be between 1 and 65535, inclusive"}},
	})
}

func TestNetworkPolicyPeers(t *testing.T) {
	t.Parallel()
	const at = "spec.ingress[0].from[0]"
	check(t, networkPolicies(), []rule{
		{name: "nothing", body: `{}`},
		{name: "pods", body: from(`{"podSelector":{}}`)},
		{name: "pods of namespaces", body: to(`{"podSelector":{},"namespaceSelector":{"matchLabels":{"a":"b"}}}`)},
		{name: "an empty peer", body: from(`{}`), want: []string{at + ": Required value: must specify a peer"}},
		{name: "pods and a block", body: from(`{"podSelector":{},"ipBlock":{"cidr":"10.0.0.0/8"}}`),
			want: []string{at + ": Forbidden: may not specify both ipBlock and another peer"}},
		{name: "namespaces and a block", body: to(`{"namespaceSelector":{},"ipBlock":{"cidr":"10.0.0.0/8"}}`),
			want: []string{"spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer"}},
		{name: "a block without a CIDR is reported last", body: from(`{"ipBlock":{"cidr":""}}`, `{}`),
			want: []string{"spec.ingress[0].from[1]: Required value: must specify a peer",
				at + ".ipBlock.cidr: Required value"}},
		{name: "types", body: `{"spec":{"policyTypes":["Egress","Ingress"]}}`},
		{name: "an unknown type", body: `{"spec":{"policyTypes":["Ingress","Transit"]}}`,
			want: []string{`spec.policyTypes[1]: Unsupported value: "Transit": supported values: "Ingress", "Egress"`}},
		{name: "three types", body: `{"spec":{"policyTypes":["Ingress","Egress","Transit"]}}`,
			want: []string{`spec.policyTypes: Invalid value: ["Ingress","Egress","Transit"]: ` +
				"may not specify more than two policyTypes"}},
	})
}

func TestNetworkPolicyBlocks(t *testing.T) {
	t.Parallel()
	const at = "spec.ingress[0].from[0].ipBlock."
	check(t, networkPolicies(), []rule{
		{name: "IPv4", body: from(block("10.0.0.0/8", "10.1.0.0/16"))},
		{name: "IPv6", body: from(block("2001:db8::/32", "2001:DB8:1::/48"))},
		{name: "an address", body: from(block("10.0.0.1")), want: []string{
			at + `cidr: Invalid value: "10.0.0.1": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`}},
		{name: "leading zeros", body: from(block("010.0.0.0/8")), want: []string{
			at + `cidr: Invalid value: "010.0.0.0/8": must not have leading 0s in IP or prefix length`}},
		{name: "an address in a network", body: from(block("10.0.0.1/8")), want: []string{
			at + `cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length`}},
		{name: "an exception is invalid", body: from(block("10.0.0.0/8", "x")), want: []string{
			at + `except[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`}},
		{name: "exceptions outside of the block", body: from(block("10.0.0.0/8", "11.0.0.0/16", "2001:db8::/32")),
			want: []string{at + "except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`",
				at + "except[1]: Invalid value: \"2001:db8::/32\": must be a strict subset of `cidr`"}},
		{name: "exceptions as large as the block", body: from(block("10.0.0.0/8", "10.0.0.0/8", "10.0.0.0/7")),
			want: []string{at + "except[0]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr`",
				at + "except[1]: Invalid value: \"10.0.0.0/7\": must be a strict subset of `cidr`"}},
		{name: "an invalid CIDR remains in an update", old: to(block("10.0.0.1/8", "010.1.0.0/16")),
			body: from(block("010.1.0.0/16"), block("10.0.0.1/8"))},
		{name: "an exception that remains must be in the block", old: from(block("10.0.0.0/8", "010.1.0.0/16")),
			body: from(block("11.0.0.0/8", "010.1.0.0/16")),
			want: []string{at + "except[0]: Invalid value: \"010.1.0.0/16\": must be a strict subset of `cidr`"}},
		{name: "an update adds an invalid CIDR", old: from(block("10.0.0.1/8")), body: from(block("10.0.0.2/8")),
			want: []string{at + `cidr: Invalid value: "10.0.0.2/8": must not have bits set beyond the prefix length`}},
	})
}

func TestNetworkPolicySelectors(t *testing.T) {
	t.Parallel()
	const badValue = `{"spec":{"podSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["-"]}]}}}`
	const message = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
		"and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', " +
		"regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	peer := from(`{"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["-"]}]}}`)
	check(t, networkPolicies(), []rule{
		{name: "labels", body: `{"spec":{"podSelector":{"matchLabels":{"a":"b"},` +
			`"matchExpressions":[{"key":"a","operator":"Exists"}]}}}`},
		{name: "invalid labels", body: `{"spec":{"podSelector":{"matchLabels":{"b":"-","a":"-"}}}}`,
			want: []string{`spec.podSelector.matchLabels: Invalid value: "-": ` + message,
				`spec.podSelector.matchLabels: Invalid value: "-": ` + message}},
		{name: "an unknown operator",
			body: `{"spec":{"podSelector":{"matchExpressions":[{"key":"a","operator":"Is"}]}}}`,
			want: []string{`spec.podSelector.matchExpressions[0].operator: Invalid value: "Is": ` +
				"not a valid selector operator"}},
		{name: "no values", body: from(`{"podSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}`),
			want: []string{"spec.ingress[0].from[0].podSelector.matchExpressions[0].values: Required value: " +
				"must be specified when `operator` is 'In' or 'NotIn'"}},
		{name: "an invalid value", body: badValue,
			want: []string{`spec.podSelector.matchExpressions[0].values[0]: Invalid value: "-": ` + message}},
		{name: "an invalid value that was there permits others", body: peer, old: badValue},
		{name: "an invalid value of a peer permits none", body: peer, old: peer, want: []string{
			`spec.ingress[0].from[0].namespaceSelector.matchExpressions[0].values[0]: Invalid value: "-": ` + message}},
	})
}

func TestNetworkPolicyDefaults(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`: `{"podSelector":{},"policyTypes":["Ingress"]}`,
		`{"spec":{"egress":[{"ports":[{"port":53},{"protocol":"UDP"}]}]}}`: `{"podSelector":{},"egress":[` +
			`{"ports":[{"protocol":"TCP","port":53},{"protocol":"UDP"}]}],"policyTypes":["Ingress","Egress"]}`,
		`{"spec":{"ingress":[{"ports":[{}]}],"egress":[{}],"policyTypes":["Egress"]}}`: `{"podSelector":{},` +
			`"ingress":[{"ports":[{"protocol":"TCP"}]}],"egress":[{}],"policyTypes":["Egress"]}`,
	} {
		for _, version := range []string{"networking.k8s.io/v1", "extensions/v1beta1"} {
			p := readAs(t, networkPolicies(), version, body).(*networkingv1.NetworkPolicy)
			got, err := json.Marshal(p.Spec)
			if diff := gocmp.Diff(want, string(got)); err != nil || diff != "" {
				t.Errorf("%s in %s (-want +got): %v\n%s", body, version, err, diff)
			}
		}
	}
}

func TestNetworkPolicyWarnings(t *testing.T) {
	t.Parallel()
	k := networkPolicies()
	p := read(t, k, `{"spec":{"ingress":[{"from":[{"podSelector":{}},`+block("2001:DB8::/32", "2001:db8:1::/48",
		"2001:db8:0002::/48")+`]}],"egress":[{"to":[`+block("10.0.0.1/8", "x")+`]}]}}`)
	want := []string{
		`spec.ingress[0].from[1].ipBlock.cidr: IPv6 CIDR value "2001:DB8::/32" ` +
			`should be in RFC 5952 canonical format ("2001:db8::/32")`,
		`spec.ingress[0].from[1].ipBlock.except[1]: IPv6 CIDR value "2001:db8:0002::/48" ` +
			`should be in RFC 5952 canonical format ("2001:db8:2::/48")`,
		`spec.egress[0].to[0].ipBlock.cidr: CIDR value "10.0.0.1/8" ` +
			`is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)`,
	}
	for _, old := range []kind.Object{nil, p} {
		if diff := gocmp.Diff(want, k.Warnings(p, old, "")); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
	}
}

func TestNetworkPolicyRows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for selector, want := range map[string]string{`{}`: "<none>", `{"matchLabels":{"a":"b"}}`: "a=b"} {
		p := read(t, networkPolicies(), `{"metadata":{"name":"p"},"spec":{"podSelector":`+selector+`}}`)
		p.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Minute)))
		got, err := networkPolicies().Row(p, "networking.k8s.io/v1", now)
		if err != nil || !slices.Equal(got, []any{"p", want, "60s"}) {
			t.Errorf("row %v, %v", got, err)
		}
	}
}

// TestInvalidListsAreBounded checks that the number of errors and warnings does not grow with the policy, and that an
// update may keep many invalid CIDRs.
func TestInvalidListsAreBounded(t *testing.T) {
	t.Parallel()
	const n = 15_000
	repeat := func(element string) string { return strings.Repeat(element+",", n-1) + element }
	var keys, cidrs []string
	for i := range n {
		keys = append(keys, fmt.Sprintf(`"-%d":""`, i))
		cidrs = append(cidrs, fmt.Sprintf(`"10.%d.%d.%d/16"`, i>>16, i>>8&255, i&255|1))
	}
	excepted := `{"spec":{"egress":[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8","except":[` +
		strings.Join(cidrs, ",") + `]}}]}]}}`
	k := networkPolicies()
	for name, body := range map[string]string{
		"ports":   `{"spec":{"ingress":[{"ports":[` + repeat(`{"port":0}`) + `]}]}}`,
		"peers":   from(repeat(`{}`)),
		"CIDRs":   from(repeat(`{"ipBlock":{}}`)),
		"excepts": excepted,
		"labels":  `{"spec":{"podSelector":{"matchLabels":{` + strings.Join(keys, ",") + `}}}}`,
		"requirements": `{"spec":{"podSelector":{"matchExpressions":[` +
			repeat(`{"key":"","operator":""}`) + `]}}}`,
		"values": `{"spec":{"podSelector":{"matchExpressions":[{"key":"a","operator":"In","values":[` +
			repeat(`"-"`) + `]}]}}}`,
	} {
		errs := k.Validate(t.Context(), read(t, k, body), nil, "")
		if len(errs) < enough || len(errs) > enough+10 {
			t.Errorf("%s: %d errors", name, len(errs))
		}
	}
	p := read(t, k, excepted)
	if errs := k.Validate(t.Context(), p, p, ""); len(errs) > 0 {
		t.Errorf("an update that changes nothing has %d errors; the first is %v", len(errs), errs[0])
	}
	if got := len(k.Warnings(p, p, "")); got < enough || got > enough+10 {
		t.Errorf("%d warnings", got)
	}
}
