package policy

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

func budget(t *testing.T, text string) kind.Object {
	t.Helper()
	b := &policyv1.PodDisruptionBudget{}
	if err := yaml.UnmarshalStrict([]byte(text), b); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b
}

// TestBudgetRules checks the validation rules; each names its source in Kubernetes'
// pkg/apis/policy/validation.
func TestBudgetRules(t *testing.T) {
	t.Parallel()
	k := budgetKind(object.NewCache(1 << 20))
	for _, r := range []struct{ rule, source, sub, is, want string }{
		{"a budget that says nothing", "", "", `{}`, ``},
		{"a number", "", "", `spec: {minAvailable: 1}`, ``},
		{"all of them", "", "", `spec: {maxUnavailable: 100%, unhealthyPodEvictionPolicy: AlwaysAllow}`, ``},
		{"one bound", "ValidatePodDisruptionBudgetSpec", "", `spec: {minAvailable: 1, maxUnavailable: 1}`,
			`spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set`},
		{"not less than none", "ValidatePositiveIntOrPercent", "", `spec: {minAvailable: -1}`,
			`spec.minAvailable: Invalid value: -1: must be greater than or equal to 0`},
		{"not more than all", "IsNotMoreThan100Percent", "", `spec: {maxUnavailable: 101%}`,
			`spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%`},
		{"a number or a percentage", "ValidatePositiveIntOrPercent", "", `spec: {minAvailable: many}`,
			`spec.minAvailable: Invalid value: "many": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`},
		{"a selector can be read", "ValidateLabelSelector", "", `spec: {selector: {matchLabels: {a: b c}}}`,
			`spec.selector.matchLabels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end ` +
				`with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		{"a policy is known", "ValidatePodDisruptionBudgetSpec", "", `spec: {unhealthyPodEvictionPolicy: Never}`,
			`spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"`},
		{"counts are not negative", "ValidatePodDisruptionBudgetStatusUpdate", "status",
			`status: {disruptionsAllowed: -1, currentHealthy: -1, desiredHealthy: -1, expectedPods: -1}`,
			`[status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0, status.currentHealthy: Invalid value: -1: must be greater than or equal to 0, ` +
				`status.desiredHealthy: Invalid value: -1: must be greater than or equal to 0, status.expectedPods: Invalid value: -1: must be greater than or equal to 0]`},
	} {
		t.Run(r.rule, func(t *testing.T) {
			t.Parallel()
			got := ""
			if errs := k.Validate(t.Context(), budget(t, r.is), budget(t, `{}`), r.sub); len(errs) > 0 {
				got = errs.ToAggregate().Error()
			}
			if got != r.want {
				t.Errorf("%s (%s):\n got %s\nwant %s", r.rule, r.source, got, r.want)
			}
		})
	}
}
