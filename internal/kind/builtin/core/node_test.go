package core

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNodeRules checks the rules of ValidateNode and ValidateNodeUpdate (pkg/apis/core/validation).
func TestNodeRules(t *testing.T) {
	t.Parallel()
	const podCIDR = `Forbidden: node updates may not change podCIDR except from "" to valid`
	config := func(fields string) string { return `{"spec":{"configSource":{"configMap":{` + fields + `}}}}` }
	check(t, "nodes", []rule{
		{name: "a taint",
			body: `{"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"},{"key":"k","effect":"NoExecute"}]}}`},
		{name: "a taint without an effect", body: `{"spec":{"taints":[{"key":"k"}]}}`,
			want: []string{"metadata.taints[0].effect: Required value"}},
		{name: "a taint with an unknown effect", body: `{"spec":{"taints":[{"key":"k","effect":"Never"}]}}`,
			want: []string{`metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`}},
		{name: "a taint with a bad key", body: `{"spec":{"taints":[{"key":"a b","effect":"NoExecute"}]}}`,
			want: []string{
				`metadata.taints[0].key: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{name: "a taint with a bad value", body: `{"spec":{"taints":[{"key":"k","value":"a b","effect":"NoExecute"}]}}`,
			want: []string{
				`metadata.taints[0].value: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}},
		{name: "a taint twice",
			body: `{"spec":{"taints":[{"key":"k","effect":"NoExecute"},{"key":"k","value":"w","effect":"NoExecute"}]}}`,
			want: []string{
				`metadata.taints[1]: Duplicate value: {"Key":"k","Value":"w","Effect":"NoExecute","TimeAdded":null}: taints must be unique by key and effect pair`}},
		{name: "the annotation of old taints",
			body: `{"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/taints":"x"}}}`,
			want: []string{`metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": invalid character 'x' looking for beginning of value`}},
		{name: "negative capacity", body: `{"status":{"capacity":{"cpu":"-1"}}}`, want: []string{
			`status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0`,
			`status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0`}},
		{name: "half a pod", body: `{"status":{"capacity":{"pods":"500m"},"allocatable":{}}}`,
			want: []string{`status.capacity.pods: Invalid value: "500m": must be an integer`}},
		{name: "a pod CIDR that is none", body: `{"spec":{"podCIDR":"x"}}`,
			want: []string{`spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`}},
		{name: "a pod CIDR with host bits", body: `{"spec":{"podCIDR":"10.0.0.1/24"}}`,
			want: []string{`spec.podCIDRs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length`}},
		{name: "two pod CIDRs of one family", body: `{"spec":{"podCIDRs":["10.0.0.0/24","10.0.1.0/24"]}}`,
			want: []string{`spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family`}},
		{name: "a pod CIDR twice", body: `{"spec":{"podCIDRs":["10.0.0.0/24","10.0.0.0/24"]}}`,
			want: []string{`spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.0.0/24"]: may specify no more than one CIDR for each IP family`}},
		{name: "two pod CIDRs, one of which is none", body: `{"spec":{"podCIDRs":["10.0.0.0/24","x"]}}`, want: []string{
			`spec.podCIDRs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
			`spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[1]: <nil> (invalid CIDR address: x)`,
			`spec.podCIDRs: Invalid value: ["10.0.0.0/24","x"]: may specify no more than one CIDR for each IP family`}},
		{name: "a pod CIDR that is none is set later", old: `{}`, body: `{"spec":{"podCIDR":"x"}}`,
			want: []string{`spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`}},
		{name: "a pod CIDR of each family", body: `{"spec":{"podCIDRs":["10.0.0.0/24","fd00::/64"]}}`},
		{name: "a pod CIDR is set later", old: `{}`, body: `{"spec":{"podCIDR":"10.0.0.0/24"}}`},
		{name: "a pod CIDR changes", old: `{"spec":{"podCIDR":"10.0.0.0/24"}}`,
			body: `{"spec":{"podCIDR":"10.0.1.0/24"}}`, want: []string{"spec.podCIDRs: " + podCIDR}},
		{name: "a pod CIDR goes", old: `{"spec":{"podCIDR":"10.0.0.0/24"}}`, body: `{}`,
			want: []string{"spec.podCIDRs: " + podCIDR}},
		{name: "the provider id changes", old: `{"spec":{"providerID":"a"}}`, body: `{"spec":{"providerID":"b"}}`,
			want: []string{`spec.providerID: Invalid value: null: field cannot be modified once set`}},
		{name: "the provider id goes", old: `{"spec":{"providerID":"a"}}`, body: `{}`,
			want: []string{`spec.providerID: Invalid value: null: field cannot be cleared once set`}},
		{name: "the order of errors",
			body: `{"metadata":{"finalizers":["x"]},"spec":{"taints":[{"key":"k"}],"podCIDR":"x"},"status":{"capacity":{"pods":"-1"},"allocatable":{}}}`,
			want: []string{
				`metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified`,
				"metadata.taints[0].effect: Required value",
				`status.capacity.pods: Invalid value: "-1": must be greater than or equal to 0`,
				`spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`}},
		{name: "the external id changes", old: `{}`, body: `{"spec":{"externalID":"b"}}`,
			want: []string{"spec.externalID: Forbidden: may not be updated"}},
		{name: "an address twice", sub: "status", old: `{}`,
			body: `{"status":{"addresses":[{"type":"InternalIP","address":"1.2.3.4"},{"type":"InternalIP","address":"1.2.3.4"}]}}`,
			want: []string{`status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"1.2.3.4"}`}},
		{name: "sorted features", body: `{"status":{"declaredFeatures":["A","A/b","B2/C"]}}`},
		{name: "features out of order, twice, and with bad names", old: `{}`, sub: "status",
			body: `{"status":{"declaredFeatures":["B","A","A","b"]}}`, want: []string{
				`status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically`,
				`status.declaredFeatures[2]: Duplicate value: "A"`,
				`status.declaredFeatures[3]: Invalid value: "b": invalid feature name "b": must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`}},
		{name: "a configuration is dropped", body: config(``)},
		{name: "a configuration is dropped by an update", old: `{}`, body: config(``)},
		{name: "unschedulable", old: `{}`, body: `{"spec":{"unschedulable":true}}`},
	})
}

// TestNodeDefaults follows SetDefaults_NodeStatus and Convert_v1_NodeSpec_To_core_NodeSpec
// (pkg/apis/core/v1). A create sets the status; an update of the node does not change it.
func TestNodeDefaults(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["nodes"]
	n := read(t, k, "", `{"spec":{"podCIDRs":["10.0.0.0/24"]},"status":{"capacity":{"cpu":"2"}}}`).(*corev1.Node)
	k.Prepare(n, nil, "")
	if got := n.Status.Allocatable[corev1.ResourceCPU]; got.Cmp(resource.MustParse("2")) != 0 ||
		n.Spec.PodCIDR != "10.0.0.0/24" {
		t.Errorf("after the create: status %v, spec %v", n.Status, n.Spec)
	}
	update := read(t, k, "", `{"status":{"capacity":{"cpu":"3"}},"spec":{"podCIDR":"10.0.0.0/24"}}`).(*corev1.Node)
	k.Prepare(update, n, "")
	if diff := cmp.Diff(n.Status, update.Status); diff != "" || len(update.Spec.PodCIDRs) != 1 {
		t.Errorf("after the update: spec %v, status (-before +after):\n%s", update.Spec, diff)
	}
}

// TestNodeRows follows printNode (pkg/printers/internalversion).
func TestNodeRows(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["nodes"]
	ready := func(s corev1.ConditionStatus) []corev1.NodeCondition {
		return []corev1.NodeCondition{{Type: corev1.NodeReady, Status: s}}
	}
	for _, c := range []struct {
		node  corev1.Node
		cells map[int]any
	}{
		{corev1.Node{Status: corev1.NodeStatus{Conditions: ready("True")}}, map[int]any{1: "Ready"}},
		{corev1.Node{Status: corev1.NodeStatus{Conditions: ready("Unknown")},
			Spec: corev1.NodeSpec{Unschedulable: true}}, map[int]any{1: "NotReady,SchedulingDisabled"}},
		{corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "",
			"kubernetes.io/role": "odd"}}}, map[int]any{2: "control-plane,odd,worker"}},
		{corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: "ExternalIP", Address: "1.1.1.1"},
			{Type: "InternalIP", Address: "2.2.2.2"}}}},
			map[int]any{5: "2.2.2.2", 6: "1.1.1.1"}},
	} {
		row, err := k.Row(&c.node, "v1", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.cells {
			if row[i] != want {
				t.Errorf("%s: %v, want %v", k.Columns("v1")[i].Name, row[i], want)
			}
		}
	}
}

// TestNodeWarnings follows fieldIsDeprecatedWarnings (pkg/registry/core/node).
func TestNodeWarnings(t *testing.T) {
	t.Parallel()
	got := createWarnings(t, "nodes", `{"spec":{"externalID":"x","configSource":{},"podCIDRs":["fd00:0::/64"]}}`)
	want := []string{ // none of configSource, which is dropped
		"spec.externalID: this field is deprecated, and is unused by Kubernetes",
		`spec.podCIDRs[0]: IPv6 CIDR value "fd00:0::/64" should be in RFC 5952 canonical format ("fd00::/64")`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
