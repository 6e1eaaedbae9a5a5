package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
)

// bounded calls f, and ends the test if it takes much longer than the second that a request may cost.
func bounded(t *testing.T, f func()) {
	t.Helper()
	start := time.Now()
	f()
	took := time.Since(start)
	t.Logf("took %v", took)
	if took > 20*time.Second { // the machine may be busy
		t.Errorf("took %v", took)
	}
}

// TestExpensivePolicy checks that policies that cost too much for an object of a megabyte end at the limit: the
// failure policy decides.
func TestExpensivePolicy(t *testing.T) {
	t.Parallel()
	kinds, data := newRegistry(), map[string]string{}
	for i := range 8_000 {
		data[fmt.Sprintf("key-%05d", i)] = fmt.Sprintf("%0100d", i)
	}
	type specs = admissionregistrationv1.ValidatingAdmissionPolicySpec
	loops := []admissionregistrationv1.Variable{{Name: "keys", Expression: "object.data.map(k, k)"}}
	for i := range 50 {
		loops = append(loops, admissionregistrationv1.Variable{Name: fmt.Sprintf("v%d", i), Expression: "[1]"})
	}
	uses := "variables.keys.all(k, k != 'x'"
	for i := range 50 {
		uses += fmt.Sprintf(" && (k != 'key-%05d' || variables.v%d[0] == 1)", i*160, i)
	}
	const noBudget = "denied request: validation failed due to running out of cost budget, no further validation rules " +
		"will be run"
	for name, c := range map[string]struct {
		spec specs
		want string
	}{
		"one expression": {specs{Validations: validations("object.data.all(k, object.data.all(l, k == l || k != l))")},
			"' resulted in error: "},
		"many expressions": {specs{Validations: validations(slices.Repeat(
			[]string{"object.data.all(k, object.data[k].matches('^[0-9]*$'))"}, 100)...)}, "resulted in error: "},
		"many comparisons": {specs{Validations: validations(slices.Repeat([]string{"object == object"}, 400)...)},
			noBudget},
		"variables in a loop": {specs{Variables: loops, Validations: validations(uses+")", uses+" && true)")},
			"resulted in error: "},
		"a condition": {specs{Validations: validations("false"), MatchConditions: []admissionregistrationv1.MatchCondition{
			{Name: "c", Expression: "object.data.all(k, object.data.all(l, k == l || k != l))"}}}, "resulted in error: "},
		"a message": {specs{Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "no",
			MessageExpression: "string(object.data.all(k, object.data.all(l, k == l || k != l)))"}}}, "denied request: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState()
			enact(s, "p", "configmaps", c.spec)
			bounded(t, func() {
				checkError(t, Validating(kinds).Validate(t.Context(), create(t, kinds, data), s), c.want)
			})
			if c.want == "denied request: no" {
				return // a failed message is no failure of the policy
			}
			s = newState()
			c.spec.FailurePolicy = new(admissionregistrationv1.Ignore)
			enact(s, "p", "configmaps", c.spec)
			bounded(t, func() {
				checkError(t, Validating(kinds).Validate(t.Context(), create(t, kinds, data), s), "")
			})
		})
	}
}

// TestManyPolicies checks that a hundred policies that fail cost little, and that a hundred that cost much share a
// limit.
func TestManyPolicies(t *testing.T) {
	t.Parallel()
	kinds := newRegistry()
	costly := strings.Repeat("lists.range(1000).all(x, lists.range(40).all(y, x + y >= 0)) && ", 3) + "true"
	for _, expression := range []string{"object.missing == 1", costly} {
		s := newState()
		for i := range 100 {
			b := enact(s, fmt.Sprintf("p%02d", i), "configmaps", admissionregistrationv1.ValidatingAdmissionPolicySpec{
				Validations: validations(expression, "object.missing == 2")})
			b.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}
		}
		a, warnings := create(t, kinds, nil), 0
		a.Warn = func(string) { warnings++ }
		bounded(t, func() { checkError(t, Validating(kinds).Validate(t.Context(), a, s), "") })
		if warnings < 100 {
			t.Errorf("%.20s: got %d warnings, want at least one for each policy", expression, warnings)
		}
	}
}

// TestManyParams checks that a selector of 10,000 parameters is evaluated for each of them, and that one of more
// than the budget of a write allows fails, as does a scan of too many objects that are not selected.
func TestManyParams(t *testing.T) {
	t.Parallel()
	kinds := newRegistry()
	for _, c := range []struct {
		params int
		labels map[string]string
		want   string
	}{
		{9_999, nil, ""},
		{10_000, nil, "denied request: failed expression: params.metadata.name != 's-9999'"},
		{20_001, nil, "failed to configure binding: validation failed due to running out of cost budget"},
		{20_001, map[string]string{"a": "b"}, "failed to configure binding: no params found"},
		{1_000_001, map[string]string{"a": "b"}, "failed to configure binding: validation failed due to running out"},
	} {
		s, secrets := newState(), schema.GroupResource{Resource: "secrets"}
		if c.params > 100_000 { // one object takes less memory
			s[secrets] = slices.Repeat([]kind.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}},
				c.params)
		}
		for i := range c.params - len(s[secrets]) {
			s[secrets] = append(s[secrets], &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s-%d", i), Namespace: "default"}})
		}
		b := enact(s, "p", "configmaps", admissionregistrationv1.ValidatingAdmissionPolicySpec{
			ParamKind:   &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "Secret"},
			Validations: validations("params.metadata.name != 's-9999'")})
		b.Spec.ParamRef = &admissionregistrationv1.ParamRef{Selector: &metav1.LabelSelector{MatchLabels: c.labels},
			ParameterNotFoundAction: new(admissionregistrationv1.DenyAction)}
		bounded(t, func() { checkError(t, Validating(kinds).Validate(t.Context(), create(t, kinds, nil), s), c.want) })
	}
}
