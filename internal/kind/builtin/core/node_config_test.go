package core

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestNodeConfig checks dropDisabledFields (pkg/registry/core/node/strategy.go): a node gets no configuration, but an
// update may change one that the node has from an earlier version. It is validated by validateNodeConfigSourceSpec and
// validateNodeConfigStatus (pkg/apis/core/validation).
func TestNodeConfig(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["nodes"]
	config := func(fields string) string { return `{"spec":{"configSource":{"configMap":{` + fields + `}}}}` }
	const has = `{"spec":{"configSource":{}},"status":{"config":{}}}`
	for _, c := range []struct {
		name, old, sub, body string
		kept                 bool
		want                 []string
	}{
		{name: "a create", body: `{"spec":{"configSource":{},"podPreemptionPolicy":{}},"status":{"config":{}}}`},
		{name: "an update", old: `{}`, body: config(``)},
		{name: "an update of the status", old: `{}`, sub: "status", body: `{"status":{"config":{"active":{}}}}`},
		{name: "no place", old: has, kept: true, body: `{"spec":{"configSource":{}}}`,
			want: []string{`spec.configSource: Invalid value: {"ConfigMap":null}: exactly one reference subfield must be non-nil`}},
		{name: "one state", old: has, kept: true, body: config(`"uid":"u","namespace":"a","name":"b","kubeletConfigKey":"c"`),
			want: []string{"spec.configSource.configMap.uid: Forbidden: uid must not be set in spec"}},
		{name: "a place without a name", old: has, kept: true, body: config(``), want: []string{
			"spec.configSource.configMap.namespace: Required value: namespace must be set",
			"spec.configSource.configMap.name: Required value: name must be set",
			"spec.configSource.configMap.kubeletConfigKey: Required value: kubeletConfigKey must be set"}},
		{name: "an active configuration of no state", sub: "status", kept: true,
			old:  `{"spec":{"configSource":{"configMap":{"namespace":"a","name":"b","kubeletConfigKey":"c"}}},"status":{"config":{}}}`,
			body: `{"status":{"config":{"active":{"configMap":{"namespace":"a","name":"b","kubeletConfigKey":"c"}}}}}`,
			want: []string{"status.config.active.configMap.uid: Required value: uid must be set in status",
				"status.config.active.configMap.resourceVersion: Required value: resourceVersion must be set in status"}},
	} {
		n := read(t, k, "", c.body).(*corev1.Node)
		var got []string
		if c.old == "" {
			k.Prepare(n, nil, c.sub)
		} else {
			old := read(t, k, "", c.old) // as it is stored
			k.Prepare(n, old, c.sub)
			for _, err := range k.Validate(t.Context(), n, old, c.sub) {
				got = append(got, err.Error())
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", c.name, diff)
		}
		if kept := configSourceOf(n) != nil || n.Status.Config != nil; kept != c.kept {
			t.Errorf("%s: the node has a configuration: %t, want %t", c.name, kept, c.kept)
		}
		if n.Spec.PodPreemptionPolicy != nil {
			t.Errorf("%s: the node has a preemption policy", c.name)
		}
	}
}
