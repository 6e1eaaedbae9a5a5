package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestCapacityRules checks the rules of ValidateCSIStorageCapacity and its counterpart for updates.
func TestCapacityRules(t *testing.T) {
	t.Parallel()
	const (
		free   = `{"storageClassName":"c","capacity":"1Gi","nodeTopology":{"matchLabels":{"zone":"a"}}}`
		spaced = `{"storageClassName":"c","nodeTopology":{"matchLabels":{"zone":"a b"}}}`
	)
	check(t, capacityKind(object.NewCache(1)), []rule{
		{name: "a capacity", body: free},
		{name: "no class", body: `{}`, want: []string{`storageClassName: Invalid value: "": ` + subdomain}},
		{name: "a negative capacity", body: overlay(t, free, `{"capacity":"-1Gi","maximumVolumeSize":"-1Gi"}`),
			want: []string{`capacity: Invalid value: "-1Gi": must be greater than or equal to 0`}},
		{name: "a wrong selector", body: overlay(t, free,
			`{"nodeTopology":{"matchExpressions":[{"key":"zone","operator":"In"}]}}`), want: []string{
			"nodeTopology.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"}},
		{name: "another size", old: free, body: overlay(t, free, `{"capacity":"2Gi","maximumVolumeSize":"1Gi"}`)},
		{name: "a value that an old object has", old: overlay(t, spaced, `{"nodeTopology":{"matchExpressions":[`+
			`{"key":"zone","operator":"In","values":["a b"]}]}}`), body: overlay(t, spaced,
			`{"nodeTopology":{"matchExpressions":[{"key":"zone","operator":"In","values":["a b"]}]}}`)},
		{name: "another class and topology", old: free, body: `{"storageClassName":"d","nodeTopology":{}}`,
			want: []string{"nodeTopology: Invalid value: {}: field is immutable",
				`storageClassName: Invalid value: "d": field is immutable`}},
	})
}

func TestCapacityColumnsAndWarnings(t *testing.T) {
	t.Parallel()
	k := capacityKind(object.NewCache(1))
	if diff := cmp.Diff(kind.PlainColumns, k.Columns("storage.k8s.io/v1")); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	checkWarnings(t, k, `{}`, "")
	checkWarnings(t, k, `{"nodeTopology":{"matchLabels":{"zone":"a","beta.kubernetes.io/os":"linux",`+
		`"beta.kubernetes.io/arch":"arm"},"matchExpressions":[{"key":"zone","operator":"Exists"},`+
		`{"key":"failure-domain.beta.kubernetes.io/zone","operator":"Exists"}]}}`, `{}`,
		`nodeTopology.matchExpressions[1].key: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
		`nodeTopology.matchLabels.beta.kubernetes.io/arch: deprecated since v1.14; use "kubernetes.io/arch" instead`,
		`nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead`)
}
