package coordination

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestCandidates checks the rules of ValidateLeaseCandidateSpec and ValidateLeaseCandidateUpdate
// (pkg/apis/coordination/validation).
func TestCandidates(t *testing.T) {
	t.Parallel()
	k := candidateKind(object.NewCache(1))
	valid := func() *candidate {
		c := &candidate{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
		c.Spec.LeaseName, c.Spec.BinaryVersion, c.Spec.EmulationVersion = "l", "1.37.2", "1.37.0"
		c.Spec.Strategy = "OldestEmulationVersion"
		return c
	}
	for name, c := range map[string]struct {
		change func(c *candidate)
		want   []string
	}{
		"valid":            {change: func(*candidate) {}},
		"another strategy": {change: func(c *candidate) { c.Spec.Strategy, c.Spec.EmulationVersion = "a.b/c", "" }},
		"nothing": {func(c *candidate) { c.Spec = (&candidate{}).Spec }, []string{
			"spec.leaseName: Required value", "spec.binaryVersion: Required value", "spec.strategy: Required value",
			`spec.leaseName: Invalid value: "": field is immutable`}},
		"no emulation": {func(c *candidate) { c.Spec.EmulationVersion = "" }, []string{
			"spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'"}},
		"an older binary": {func(c *candidate) { c.Spec.BinaryVersion = "1.36.9" }, []string{
			"spec.binaryVersion: Invalid value: \"1.36.9\": must be greater than or equal to `emulationVersion`"}},
		"prefixes": {func(c *candidate) { c.Spec.BinaryVersion, c.Spec.EmulationVersion = "v1.2.3", "v1.2.3" }, []string{
			`spec.emulationVersion: Invalid value: "v1.2.3": must be a valid semantic version`,
			`spec.binaryVersion: Invalid value: "v1.2.3": must be a valid semantic version`,
			"spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'"}},
		"an unknown strategy": {func(c *candidate) { c.Spec.Strategy = "Youngest" }, []string{
			`spec.strategy.strategy: Unsupported value: "Youngest": supported values: "OldestEmulationVersion"`}},
		"another lease": {func(c *candidate) { c.Spec.LeaseName = "m" }, []string{
			`spec.leaseName: Invalid value: "m": field is immutable`}},
	} {
		obj := valid()
		c.change(obj)
		var got []string
		for _, err := range k.Validate(t.Context(), obj, valid(), "") {
			got = append(got, err.Error())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
