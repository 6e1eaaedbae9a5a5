package structural

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"github.com/bowline-dev/bowline/internal/kind"
)

// kindWithRules returns the kind of a definition whose spec and status have these properties and rules (as JSON).
func kindWithRules(t testing.TB, spec, specRules, status, statusRules string) kind.Kind {
	t.Helper()
	return newKind(t, fmt.Sprintf(`{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
  "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
    "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {%s}, "x-kubernetes-validations": [%s]},
        "status": {"type": "object", "properties": {%s}, "x-kubernetes-validations": [%s]}}}}}]}}`, spec, specRules, status, statusRules))
}

// errorText formats errors as one text, "" for none.
func errorText(errs field.ErrorList) string {
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

// warningRecorder records warnings.
type warningRecorder []string

func (w *warningRecorder) AddWarning(_, text string) { *w = append(*w, text) }

// TestRules checks each feature of x-kubernetes-validations, with its errors and warnings.
func TestRules(t *testing.T) {
	t.Parallel()
	const (
		props    = `"n":{"type":"integer"},"s":{"type":"string","maxLength":8},"list":{"type":"array","maxItems":4,"items":{"type":"string","maxLength":8}},"any":{"x-kubernetes-int-or-string":true}`
		positive = `{"rule":"!has(self.n) || self.n > 0","message":"n must be positive"}`
		fixed    = `{"rule":"self.n == oldSelf.n","message":"n is fixed"}`
	)
	tests := []struct {
		what, rules, status string
		sub, old, new       string
		errs                string
		warnings            []string
	}{
		{what: "a rule that holds", rules: positive, new: `"spec":{"n":1}`},
		{what: "its message", rules: positive, new: `"spec":{"n":0}`, errs: `spec: Invalid value: n must be positive`},
		{what: "without message the rule itself", rules: `{"rule":"self.n > 0"}`, new: `"spec":{"n":0}`,
			errs: `spec: Invalid value: failed rule: self.n > 0`},
		{what: "a message made by an expression",
			rules: `{"rule":"self.n > 0","messageExpression":"'n is ' + string(self.n)","message":"unused"}`,
			new:   `"spec":{"n":-2}`, errs: `spec: Invalid value: n is -2`},
		{what: "an expression that fails gives way to the message",
			rules: `{"rule":"self.n > 0","messageExpression":"self.list[7]","message":"n must be positive"}`,
			new:   `"spec":{"n":0,"list":[]}`, errs: `spec: Invalid value: n must be positive`},
		{what: "an expression that is empty gives way to the message",
			rules: `{"rule":"self.n > 0","messageExpression":"' '","message":"n must be positive"}`,
			new:   `"spec":{"n":0}`, errs: `spec: Invalid value: n must be positive`},
		{what: "reason FieldValueForbidden",
			rules: `{"rule":"self.n > 0","message":"no","reason":"FieldValueForbidden"}`, new: `"spec":{"n":0}`,
			errs: `spec: Forbidden: no`},
		{what: "reason FieldValueRequired",
			rules: `{"rule":"has(self.s)","message":"s, please","reason":"FieldValueRequired"}`, new: `"spec":{"n":0}`,
			errs: `spec: Required value: s, please`},
		{what: "reason FieldValueDuplicate",
			rules: `{"rule":"self.n > 0","message":"no","reason":"FieldValueDuplicate"}`, new: `"spec":{"n":0}`,
			errs: `spec: Duplicate value`},
		{what: "fieldPath", rules: `{"rule":"self.n > 0","message":"no","fieldPath":".n"}`, new: `"spec":{"n":0}`,
			errs: `spec.n: Invalid value: no`},
		{what: "several rules, in their order", rules: positive + `,{"rule":"has(self.s)","message":"s, please"}`,
			new: `"spec":{"n":0}`, errs: `[spec: Invalid value: n must be positive, spec: Invalid value: s, please]`},
		{what: "a value that is missing", rules: `{"rule":"self.n > 0"}`, new: `"spec":{}`,
			errs: `spec: Invalid value: "object": no such key: n evaluating rule: self.n > 0`},
		{what: "types that only the value shows", rules: `{"rule":"self.any < 3","message":"any is small"}`,
			new:  `"spec":{"any":"x"}`,
			errs: `spec: Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: any is small`},
		{what: "no rules without the part that has them", rules: positive, new: `"status":{}`},

		{what: "a transition needs something to come from", rules: fixed, new: `"spec":{"n":1}`},
		{what: "a transition", rules: fixed, old: `"spec":{"n":1}`, new: `"spec":{"n":2}`,
			errs: `spec: Invalid value: n is fixed`},
		{what: "a transition to the same", rules: fixed, old: `"spec":{"n":1}`, new: `"spec":{"n":1,"s":"x"}`},
		{what: "a transition of a part that was not there", rules: fixed, old: `"status":{}`, new: `"spec":{"n":2}`},
		{what: "optionalOldSelf on create",
			rules: `{"rule":"oldSelf.hasValue() || self.n == 1","optionalOldSelf":true,"message":"n begins with 1"}`,
			new:   `"spec":{"n":2}`, errs: `spec: Invalid value: n begins with 1`},
		{what: "optionalOldSelf on update",
			rules: `{"rule":"!oldSelf.hasValue() || self.n == oldSelf.value().n + 1","optionalOldSelf":true,"message":"n counts"}`, old: `"spec":{"n":1}`, new: `"spec":{"n":3}`, errs: `spec: Invalid value: n counts`},

		{what: "wrong before and changed", rules: positive, old: `"spec":{"n":-1}`, new: `"spec":{"n":-2}`,
			errs: `spec: Invalid value: n must be positive`},
		{what: "wrong before and not changed", rules: positive, old: `"spec":{"n":-1}`,
			new: `"spec":{"n":-1},"status":{"n":1}`, warnings: []string{`spec: Invalid value: n must be positive`}},
		{what: "a transition is not let through", rules: `{"rule":"self.n > oldSelf.n","message":"n grows"}`,
			old: `"spec":{"n":1}`, new: `"spec":{"n":1}`, errs: `spec: Invalid value: n grows`},

		{what: "a write of the status runs the rules of the status", status: positive, sub: "status", old: `"spec":{}`,
			new: `"spec":{},"status":{"n":0}`, errs: `status: Invalid value: n must be positive`},
		{what: "a write of the status warns of a spec that was wrong", rules: positive, sub: "status",
			old: `"spec":{"n":-1}`, new: `"spec":{"n":-1},"status":{"n":1}`,
			warnings: []string{`spec: Invalid value: n must be positive`}},

		{what: "none are run when types are wrong", rules: positive, new: `"spec":{"n":"x"}`,
			errs: `[spec.n: Invalid value: "string": spec.n in body must be of type integer: "string", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			k := kindWithRules(t, props, test.rules, props, test.status)
			var old kind.Object
			if test.old != "" {
				old = widgetWith(t, k, test.old)
			}
			var warnings warningRecorder
			errs := k.Validate(warning.WithWarningRecorder(t.Context(), &warnings), widgetWith(t, k, test.new), old,
				test.sub)
			if got := errorText(errs); got != test.errs || !slices.Equal(warnings, test.warnings) {
				t.Errorf("\nwant %s %q\ngot  %s %q", test.errs, test.warnings, got, warnings)
			}
		})
	}
}

// longText returns a spec with a long text. Searching it for itself takes little time, but its CEL cost is a
// hundredth of the square of its length.
func longText(length int) string { return `"spec":{"text":"` + strings.Repeat("x", length) + `"}` }

const costly = `{"rule":"self.text.contains(self.text)","message":"m"}`

// TestRuleCostLimit checks that a rule stops at Kubernetes' cost limit for one expression, and that no rule
// runs after it.
func TestRuleCostLimit(t *testing.T) {
	t.Parallel()
	k := kindWithRules(t, `"text":{"type":"string"}`, costly+`,{"rule":"false"}`, "", "")
	if errs := k.Validate(t.Context(), widgetWith(t, k, longText(9_000)), nil, ""); len(errs) != 1 ||
		errs[0].Error() != "spec: Invalid value: failed rule: false" {
		t.Errorf("below the cost limit: %v, want only the failed rule false", errs)
	}
	errs := k.Validate(t.Context(), widgetWith(t, k, longText(11_000)), nil, "")
	const want = `spec: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: m`
	if len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("beyond the cost limit: %v, want only that the rule is too costly", errs)
	}
}

// TestObjectCostLimit checks that the rules of an object stop at the cost limit for one object.
func TestObjectCostLimit(t *testing.T) {
	t.Parallel()
	const want = `spec: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run`
	for rules, want := range map[int]string{12: "", 13: want} {
		k := kindWithRules(t, `"text":{"type":"string"}`, strings.TrimSuffix(strings.Repeat(costly+",", rules), ","),
			"", "")
		if got := errorText(k.Validate(t.Context(), widgetWith(t, k, longText(9_000)), nil, "")); got != want {
			t.Errorf("%d rules: %q, want %q", rules, got, want)
		}
	}
}

// TestRulesStopWithContext checks that canceling the context interrupts a running rule.
func TestRulesStopWithContext(t *testing.T) {
	t.Parallel()
	k := kindWithRules(t, `"list":{"type":"array","items":{"type":"integer"}}`,
		`{"rule":"self.list.all(a, self.list.all(b, a + b > 0))","message":"m"}`, "", "")
	list := `"spec":{"list":[1` + strings.Repeat(",1", 200) + `]}`
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs := k.Validate(ctx, widgetWith(t, k, list), nil, "")
	if !strings.Contains(errorText(errs), "interrupted") {
		t.Errorf("got %v, want an interrupted rule", errs)
	}
}

// TestRulesInBubbles compiles rules in several synctest bubbles at once, to check that the library's global
// state does not tie one bubble to another.
func TestRulesInBubbles(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := kindWithRules(t, `"n":{"type":"integer"}`, `{"rule":"self.n > 0"}`, "", "")
				if errs := k.Validate(t.Context(), widgetWith(t, k, `"spec":{"n":1}`), nil, ""); len(errs) > 0 {
					t.Errorf("a valid object is rejected: %v", errs)
				}
			})
		})
	}
}
