package admissionregistration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestCostlyPolicies checks that a policy that would take seconds to validate is rejected at once.
func TestCostlyPolicies(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		return "validations:[" + strings.Repeat(`{"expression":"nope"},`, n-1) + `{"expression":"1"}]`
	}
	long := validations(strings.Repeat("x", 10_001))
	repeated := validations(strings.Repeat("'a'.matches('a{1000}') && ", 200)+"true",
		strings.Repeat("'a'.matches('b{1000}') && ", 200)+"true", strings.Repeat("'a'.matches('c{1000}') && ", 101)+"true")
	values := "matchConstraints:" + allPods(`resourceNames:["/"`+strings.Repeat(`,"/"`, 9_996)+`]`)
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "many expressions", body: validatingSpec(many(501)), want: []string{
			"spec: Invalid value: the policy has 501 CEL expressions: at most 500 are allowed"}},
		{name: "a long expression", body: validatingSpec(long), want: []string{
			"spec: Invalid value: the CEL expressions are too long to compile, or their types too large: they cost 100020001, and may cost 100000000"}},
		{name: "many repetitions", body: validatingSpec(repeated), want: []string{
			"spec: Invalid value: the regular expressions are too large to compile: repetitions such as {1000} add up to 501000, and may add up to 500000"}},
		{name: "many values", body: validatingSpec(values), want: []string{
			"spec: Invalid value: the rules and selectors have 10002 values in all: at most 10000 are allowed"}},
		{name: "costs of the old object", old: validatingSpec(long), body: validatingSpec(long, `failurePolicy:"Ignore"`)},
		{name: "higher costs than the old object", old: validatingSpec(many(501)), body: validatingSpec(many(502)),
			want: []string{"spec: Invalid value: the policy has 502 CEL expressions: at most 501 are allowed"}},
	})
}

// TestPolicyOfMaximumCostIsFast validates a policy with as many expressions as are allowed.
func TestPolicyOfMaximumCostIsFast(t *testing.T) {
	t.Parallel()
	text := `object.spec.replicas <= 5 && object.metadata.name.startsWith("a") && object.spec.items.all(x, x != "b")`
	all := make([]string, maxExpressions-1)
	for i := range all {
		all[i] = text
	}
	k := validatingPolicyKind(object.NewCache(1))
	obj := read(t, k, hub, validatingSpec(`variables:[{"name":"v","expression":"1"}]`, validations(all...)))
	start := time.Now()
	if errs := k.Validate(t.Context(), obj, nil, ""); len(errs) > 0 {
		t.Fatal(errs[0])
	}
	t.Logf("%d expressions: %v", maxExpressions, time.Since(start))
	if took := time.Since(start); took > 20*time.Second { // about a second on an idle machine
		t.Errorf("validation took %v", took)
	}
}

// TestLargeTypesAreRefused checks expressions whose types would take hours to check.
func TestLargeTypesAreRefused(t *testing.T) {
	t.Parallel()
	loops := func(n int) string {
		text := "[{1: 1}]"
		for i := range n {
			text += fmt.Sprintf(".map(x%d, {x%d: x%d})", i, i, i)
		}
		return "size(" + text + ") > 0"
	}
	variables := `variables:[{"name":"v0","expression":"{1: 1}"}`
	for i := range 9 {
		variables += fmt.Sprintf(`,{"name":"v%d","expression":"{variables.v%d: variables.v%d}"}`, i+1, i, i)
	}
	lists := func(n int) string {
		text := `variables:[{"name":"v0","expression":"[1]"}`
		for i := range n {
			text += fmt.Sprintf(`,{"name":"v%d","expression":"[variables.v%d]"}`, i+1, i)
		}
		return text
	}
	refused := func(field, text string) string {
		return fmt.Sprintf("%s: Invalid value: %q: %s", field, text, largeTypes)
	}
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "a few maps", body: validatingSpec(validations(loops(5)))},
		{name: "maps with constant keys", body: validatingSpec(validations("size({'a': [" +
			strings.Repeat("{'b': {'c': 1}}, ", 50) + "{}]}) > 0"))},
		{name: "many maps", body: validatingSpec(validations(loops(30))), want: []string{
			"spec: Invalid value: the CEL expressions are too long to compile, or their types too large: they cost " +
				"209715581924, and may cost 100000000"}},
		{name: "variables that contain others", body: validatingSpec(lists(20) + "]")},
		{name: "many variables that contain others", body: validatingSpec(lists(32) + "]"), want: []string{
			refused("spec.variables[32].expression", "[variables.v31]"),
			refused("spec.validations[0].expression", "true")}},
		{name: "many maps in variables", body: validatingSpec(variables + "]"), want: []string{
			refused("spec.variables[9].expression", "{variables.v8: variables.v8}")}},
	})
}

// TestErrorsAreLimited checks that expressions are no longer compiled after a number of errors.
func TestErrorsAreLimited(t *testing.T) {
	t.Parallel()
	all := make([]string, maxExpressions-1)
	for i := range all {
		all[i] = strings.Repeat("nope+", 80) + "1"
	}
	k := validatingPolicyKind(object.NewCache(1))
	if n := len(k.Validate(t.Context(), read(t, k, hub, validatingSpec(validations(all...))), nil, "")); n != maxFailed {
		t.Errorf("%d errors, want %d", n, maxFailed)
	}
}
