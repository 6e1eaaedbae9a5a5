package admissionregistration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// policyCase is a policy or binding, optionally with its old state, and the expected errors.
type policyCase struct {
	name, body, old, sub string
	want                 []string
}

func checkPolicies(t *testing.T, k kind.Kind, cases []policyCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if c.old != "" {
				old = read(t, k, hub, c.old)
			}
			var got []string
			for _, e := range k.Validate(t.Context(), read(t, k, hub, c.body), old, c.sub) {
				got = append(got, e.Error())
			}
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// members returns a JSON object with the members of good, in which some are replaced: `name:value`. An empty value
// removes the member.
func members(good map[string]string, changes ...string) string {
	for _, c := range changes {
		name, value, _ := strings.Cut(c, ":")
		good[name] = value
	}
	var parts []string
	for name, value := range good {
		if value != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// allPods are rules that match a write.
func allPods(changes ...string) string {
	return `{"resourceRules":[` + members(map[string]string{"operations": `["CREATE"]`, "apiGroups": `[""]`,
		"apiVersions": `["v1"]`, "resources": `["pods"]`}, changes...) + `]}`
}

// validatingSpec returns a valid policy in which members of the spec are replaced.
func validatingSpec(changes ...string) string {
	return `{"metadata":{"name":"p"},"spec":` + members(map[string]string{"matchConstraints": allPods(),
		"validations": `[{"expression":"true"}]`}, changes...) + `}`
}

// quoted returns a text as JSON.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string has a JSON form
	}
	return string(data)
}

// validations returns the member with one validation for each expression.
func validations(expressions ...string) string {
	var all []string
	for _, e := range expressions {
		all = append(all, `{"expression":`+quoted(e)+`}`)
	}
	return "validations:[" + strings.Join(all, ",") + "]"
}

const (
	fooParams = `paramKind:{"apiVersion":"example.com/v1","kind":"Foo"}`
	noParams  = "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.x\n | ^"
)

// TestValidatingPolicies follows TestValidateValidatingAdmissionPolicy of Kubernetes' pkg/apis/admissionregistration.
func TestValidatingPolicies(t *testing.T) {
	t.Parallel()
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "valid", body: validatingSpec(validations("object.spec.x <= 1 && oldObject == null",
			"request.operation == 'CREATE' && namespaceObject.metadata.name == 'a'",
			"authorizer.requestResource.check('get').allowed()"))},
		{name: "parameters", body: validatingSpec(fooParams, validations("object.x < params.x"))},
		{name: "annotations alone",
			body: validatingSpec("validations:", `auditAnnotations:[{"key":"k","valueExpression":"string(object.x)"}]`)},
		{name: "nothing", body: `{"metadata":{"name":"p"}}`, want: []string{
			"spec.matchConstraints: Required value",
			"spec.validations: Required value: validations or auditAnnotations must contain at least one item",
			"spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item"}},
		{name: "an unknown failure policy", body: validatingSpec(`failurePolicy:"Maybe"`), want: []string{
			`spec.failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"`}},
		{name: "a blank expression", body: validatingSpec(validations(" ")), want: []string{
			"spec.validations[0].expression: Required value: expression is not specified"}},
		{name: "a syntax error", body: validatingSpec(validations("true", "object.")), want: []string{
			"spec.validations[1].expression: Invalid value: \"object.\": compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | object.\n | .......^"}},
		{name: "a recorded syntax error", body: validatingSpec(validations("object.data +")), want: []string{
			"spec.validations[0].expression: Invalid value: \"object.data +\": compilation failed: ERROR: <input>:1:14: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | object.data +\n | .............^"}},
		{name: "an expression that is not a condition", body: validatingSpec(validations("1")), want: []string{
			`spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int`}},
		{name: "no parameters", body: validatingSpec(validations("params.x")), want: []string{
			`spec.validations[0].expression: Invalid value: "params.x": ` + noParams}},
		{name: "types of patches", body: validatingSpec(validations("Object{} == null")), want: []string{
			"spec.validations[0].expression: Invalid value: \"Object{} == null\": compilation failed: ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')\n | Object{} == null\n | ......^"}},
		{name: "a reserved name", body: strings.Replace(validatingSpec(), `"p"`, `"p.static.k8s.io"`, 1), want: []string{
			`metadata.name: Invalid value: "p.static.k8s.io": names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API`}},
		{name: "a reserved name that exists", body: strings.Replace(validatingSpec(), `"p"`, `"p.static.k8s.io"`, 1),
			old: validatingSpec()},
	})
}

func TestValidationMessages(t *testing.T) {
	t.Parallel()
	one := func(fields string) string {
		return validatingSpec(`validations:[{"expression":"true",` + fields + `}]`)
	}
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "valid", body: one(`"message":" a ","messageExpression":"'x: ' + string(object.x)","reason":"Forbidden"`)},
		{name: "an unknown reason", body: one(`"reason":"Timeout"`), want: []string{
			`spec.validations[0].reason: Unsupported value: "Timeout": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"`}},
		{name: "blank messages", body: one(`"message":" ","messageExpression":"\n"`), want: []string{
			`spec.validations[0].messageExpression: Invalid value: "\n": must be non-empty if specified`,
			`spec.validations[0].message: Invalid value: " ": must be non-empty if specified`}},
		{name: "two lines", body: one(`"message":"a\nb"`), want: []string{
			`spec.validations[0].message: Invalid value: "a\nb": must not contain line breaks`}},
		{name: "a line break at the end", body: one(`"message":"a\n"`)},
		{name: "a message that is not a text", body: one(`"messageExpression":"1 > 0"`), want: []string{
			`spec.validations[0].messageExpression: Invalid value: "1 > 0": must evaluate to string but got bool`}},
		{name: "the position of an error after white space", body: one(`"messageExpression":"  x"`), want: []string{
			"spec.validations[0].messageExpression: Invalid value: \"  x\": compilation failed: ERROR: <input>:1:3: undeclared reference to 'x' (in container '')\n |   x\n | ..^"}},
		{name: "an authorizer", body: one(`"messageExpression":"string(authorizer)"`), want: []string{
			"spec.validations[0].messageExpression: Invalid value: \"string(authorizer)\": compilation failed: ERROR: <input>:1:8: undeclared reference to 'authorizer' (in container '')\n | string(authorizer)\n | .......^"}},
	})
}

func TestAuditAnnotations(t *testing.T) {
	t.Parallel()
	annotations := func(all ...string) string {
		return validatingSpec("validations:", "auditAnnotations:["+strings.Join(all, ",")+"]")
	}
	many := slices.Repeat([]string{`{"key":"k","valueExpression":"null"}`}, 21)
	for i := range many {
		many[i] = strings.Replace(many[i], `"k"`, fmt.Sprintf(`"k%d"`, i), 1)
	}
	var shown []string
	for i := range many {
		shown = append(shown, fmt.Sprintf(`{"Key":"k%d","ValueExpression":"null"}`, i))
	}
	const good = `{"key":"k","valueExpression":"'x'"}`
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "text and null", body: annotations(good, `{"key":"l","valueExpression":"null"}`)},
		{name: "the same key twice", body: annotations(good, good), want: []string{
			`spec.auditAnnotations[1].key: Duplicate value: "k"`}},
		{name: "an invalid key", body: annotations(`{"key":"@","valueExpression":"null"}`), want: []string{
			`spec.auditAnnotations[0].key: Invalid value: "p/@": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{name: "no name", body: strings.Replace(annotations(good), `"p"`, `""`, 1), want: []string{
			`spec.auditAnnotations[0].key: Invalid value: "k": requires metadata.name be non-empty`}},
		{name: "no expression", body: annotations(`{"key":"k","valueExpression":" "}`), want: []string{
			"spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified"}},
		{name: "a long expression",
			body: annotations(`{"key":"k","valueExpression":"` + strings.Repeat("x", 5<<10+1) + `"}`),
			want: []string{"spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length"}},
		{name: "an expression that is not a text", body: annotations(`{"key":"k","valueExpression":" true"}`),
			want: []string{`spec.auditAnnotations[0].valueExpression: Invalid value: " true": must evaluate to one of [string null_type] but got bool`}},
		{name: "too many", body: annotations(many...), want: []string{"spec.auditAnnotations: Invalid value: [" +
			strings.Join(shown, ",") + "]: must not have more than 20 auditAnnotations"}},
	})
}

func TestPolicyVariables(t *testing.T) {
	t.Parallel()
	variables := func(all ...string) string {
		var parts []string
		for i := 0; i < len(all); i += 2 {
			parts = append(parts, fmt.Sprintf(`{"name":%q,"expression":%q}`, all[i], all[i+1]))
		}
		return "variables:[" + strings.Join(parts, ",") + "]"
	}
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "variables of variables", body: validatingSpec(fooParams,
			variables("foo", "1 + 1", "bar", "variables.foo + params.x"), validations("variables.foo > variables.bar"))},
		{name: "an unknown variable", body: validatingSpec(variables("foo", "1"), validations("variables.bar == 2")),
			want: []string{"spec.validations[0].expression: Invalid value: \"variables.bar == 2\": compilation failed: ERROR: <input>:1:10: undefined field 'bar'\n | variables.bar == 2\n | .........^"}},
		{name: "the type of a variable", body: validatingSpec(variables("foo", "1"), validations("variables.foo == 'a'")),
			want: []string{"spec.validations[0].expression: Invalid value: \"variables.foo == 'a'\": compilation failed: ERROR: <input>:1:15: found no matching overload for '_==_' applied to '(int, string)'\n | variables.foo == 'a'\n | ..............^"}},
		{name: "no variables", body: validatingSpec(validations("variables.foo == 1")), want: []string{
			"spec.validations[0].expression: Invalid value: \"variables.foo == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.foo == 1\n | ^"}},
		{name: "a later variable", body: validatingSpec(variables("bar", "variables.foo", "foo", "1")), want: []string{
			"spec.variables[0].expression: Invalid value: \"variables.foo\": compilation failed: ERROR: <input>:1:10: undefined field 'foo'\n | variables.foo\n | .........^"}},
		{name: "a condition", body: validatingSpec(variables("foo", "true"),
			`matchConditions:[{"name":"a","expression":"variables.foo"}]`), want: []string{
			"spec.matchConditions[0].expression: Invalid value: \"variables.foo\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.foo\n | ^"}},
		{name: "names", body: validatingSpec(variables("4ever", "1", " ", "1", "if", "1", "_a1", "1")), want: []string{
			`spec.variables[0].name: Invalid value: "4ever": must be a valid CEL identifier`,
			"spec.variables[1].name: Required value: name is not specified",
			`spec.variables[2].name: Invalid value: "if": must be a valid CEL identifier`}},
		{name: "a blank expression", body: validatingSpec(variables("a", " ")), want: []string{
			"spec.variables[0].expression: Required value: expression is not specified"}},
	})
}

func TestPolicyConditions(t *testing.T) {
	t.Parallel()
	conditions := func(all ...string) string { return "matchConditions:[" + strings.Join(all, ",") + "]" }
	many := slices.Repeat([]string{`{"name":"k","expression":"true"}`}, 65)
	for i := range many {
		many[i] = strings.Replace(many[i], `"k"`, fmt.Sprintf(`"k%d"`, i), 1)
	}
	paramsCondition := conditions(`{"name":"a","expression":"params.x == 1"}`)
	undeclared := "spec.matchConditions[0].expression: Invalid value: \"params.x == 1\": " +
		strings.Replace(noParams, "params.x", "params.x == 1", 1)
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "parameters", body: validatingSpec(fooParams, paramsCondition)},
		{name: "no parameters", body: validatingSpec(paramsCondition), want: []string{undeclared}},
		{name: "names", body: validatingSpec(conditions(`{"name":"","expression":" "}`, `{"name":"a","expression":" true"}`,
			`{"name":"a","expression":"1"}`)), want: []string{
			"spec.matchConditions[0].expression: Required value",
			"spec.matchConditions[0].name: Required value",
			`spec.matchConditions[2].expression: Invalid value: "1": must evaluate to bool but got int`,
			`spec.matchConditions[2].name: Duplicate value: "a"`}},
		{name: "too many", body: validatingSpec(conditions(many...)), want: []string{
			"spec.matchConditions: Too many: 65: must have at most 64 items"}},
		{name: "an invalid one that is not changed", old: validatingSpec(paramsCondition),
			body: validatingSpec(paramsCondition, `failurePolicy:"Ignore"`)},
		{name: "an invalid name that is not changed", old: validatingSpec(conditions(`{"name":"","expression":"true"}`)),
			body: validatingSpec(conditions(`{"name":"","expression":"true"}`), `failurePolicy:"Ignore"`)},
		{name: "parameters removed", old: validatingSpec(fooParams, paramsCondition), body: validatingSpec(paramsCondition),
			want: []string{undeclared}},
		{name: "parameters of another kind", old: validatingSpec(fooParams, conditions(`{"name":"","expression":"true"}`)),
			body: validatingSpec(strings.Replace(fooParams, "Foo", "Bar", 1), conditions(`{"name":"","expression":"true"}`)),
			want: []string{"spec.matchConditions[0].name: Required value"}},
	})
}

// TestUnchangedExpressionsAreNotCompiled checks updates of policies that were valid for another server: only what may
// have changed is compiled.
func TestUnchangedExpressionsAreNotCompiled(t *testing.T) {
	t.Parallel()
	const variable = `variables:[{"name":"v","expression":"nope()"}]`
	unknown := func(field, text string) string {
		return fmt.Sprintf("%s: Invalid value: %q: compilation failed: ERROR: <input>:1:%d: undeclared reference to 'nope' (in container '')\n | %s\n | %s^",
			field, text, strings.Index(text, "(")+1, text, strings.Repeat(".", strings.Index(text, "(")))
	}
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "an unchanged validation", old: validatingSpec(validations("nope()")),
			body: validatingSpec(validations("true", "nope()"))},
		{name: "a changed validation", old: validatingSpec(validations("nope()")),
			body: validatingSpec(validations("!nope()")),
			want: []string{unknown("spec.validations[0].expression", "!nope()")}},
		{name: "an unchanged message is not an unchanged validation",
			old:  validatingSpec(`validations:[{"expression":"true","messageExpression":"nope()"}]`),
			body: validatingSpec(validations("nope()")),
			want: []string{unknown("spec.validations[0].expression", "nope()")}},
		{name: "an unchanged variable", old: validatingSpec(variable, validations("variables.v")),
			body: validatingSpec(variable, validations("variables.v", "variables.v == 1"))},
		{name: "an unchanged variable with new parameters", old: validatingSpec(variable),
			body: validatingSpec(variable, fooParams), want: []string{unknown("spec.variables[0].expression", "nope()")}},
		{name: "a removed variable", old: validatingSpec(`variables:[{"name":"v","expression":"true"}]`,
			validations("variables.v")), body: validatingSpec(validations("variables.v")), want: []string{
			"spec.validations[0].expression: Invalid value: \"variables.v\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.v\n | ^"}},
		{name: "a variable of another type", old: validatingSpec(`variables:[{"name":"v","expression":"true"}]`,
			validations("variables.v")), body: validatingSpec(`variables:[{"name":"v","expression":"1"}]`,
			validations("variables.v")), want: []string{
			`spec.validations[0].expression: Invalid value: "variables.v": must evaluate to bool but got int`}},
	})
}

func TestPolicyDefaults(t *testing.T) {
	t.Parallel()
	spec := read(t, validatingPolicyKind(object.NewCache(1)), hub, validatingSpec()).(*validatingPolicy).Spec
	m := spec.MatchConstraints
	got := fmt.Sprint(*spec.FailurePolicy, " ", *m.MatchPolicy, " ", *m.ResourceRules[0].Scope)
	if got != "Fail Equivalent *" || m.NamespaceSelector == nil || m.ObjectSelector == nil {
		t.Errorf("the defaults are %s and the selectors %v, %v", got, m.NamespaceSelector, m.ObjectSelector)
	}
	change := read(t, mutatingPolicyKind(object.NewCache(1)), hub, mutatingSpec()).(*mutatingPolicy).Spec
	if *change.FailurePolicy != admissionv1.Fail || *change.MatchConstraints.MatchPolicy != admissionv1.Equivalent ||
		*change.MatchConstraints.ResourceRules[0].Scope != admissionv1.AllScopes {
		t.Errorf("the defaults of a mutating policy are %v", change)
	}
}

// TestStatusWriteKeepsMetadata checks that a write of the status changes nothing else, not even the labels.
func TestStatusWriteKeepsMetadata(t *testing.T) {
	t.Parallel()
	k := validatingPolicyKind(object.NewCache(1))
	old := read(t, k, hub, validatingSpec()).(*validatingPolicy)
	old.Generation, old.Labels, old.Finalizers = 3, map[string]string{"a": "b"}, []string{"example.com/f"}
	sent := read(t, k, hub, validatingSpec(validations("false"))).(*validatingPolicy)
	sent.Annotations = map[string]string{"c": "d"}
	sent.Status.ObservedGeneration = 3
	k.Prepare(sent, old, "status")
	want := old.DeepCopy()
	want.Status.ObservedGeneration = 3
	if diff := gocmp.Diff(want, sent); diff != "" {
		t.Errorf("the written status (-want +got):\n%s", diff)
	}
	changed := read(t, k, hub, validatingSpec(validations("false"))).(*validatingPolicy)
	k.Prepare(changed, want, "")
	if changed.Generation != 4 || changed.Status.ObservedGeneration != 3 {
		t.Errorf("after an update, the generation is %d and the status %v", changed.Generation, changed.Status)
	}
	created := read(t, k, hub, `{"status":{"observedGeneration":5}}`).(*validatingPolicy)
	k.Prepare(created, nil, "")
	if created.Generation != 1 || created.Status.ObservedGeneration != 0 {
		t.Errorf("after a create, the generation is %d and the status %v", created.Generation, created.Status)
	}
}

func TestPolicyStatus(t *testing.T) {
	t.Parallel()
	warning := func(fields string) string {
		return `{"status":{"typeChecking":{"expressionWarnings":[{` + fields + `}]}}}`
	}
	const at = "status.typeChecking.expressionWarnings[0]."
	cases := []policyCase{
		{name: "nothing", body: `{}`},
		{name: "a warning", body: warning(`"fieldRef":" spec.validations[0].expression","warning":"w"`)},
		{name: "no warning", body: warning(""), want: []string{at + "warning: Required value", at + "fieldRef: Required value"}},
		{name: "not a path", body: warning(`"fieldRef":"spec[foo]","warning":"w"`), want: []string{
			at + `fieldRef: Invalid value: "spec[foo]": invalid JSONPath: invalid array index foo`}},
		{name: "a long path", body: warning(`"fieldRef":"` + strings.Repeat(".", 257) + `","warning":"w"`), want: []string{
			at + "fieldRef: Too long: may not be more than 256 bytes"}},
		{name: "too many conditions", body: `{"status":{"conditions":[` + strings.Repeat("{},", 1_000) + `{}]}}`,
			want: []string{"status.conditions: Too many: 1001: must have at most 1000 items"}},
		{name: "a condition", body: `{"status":{"conditions":[{"type":"A","status":"True","reason":"R","message":"",` +
			`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`},
		{name: "an empty condition", body: `{"status":{"conditions":[{}]}}`, want: []string{
			"status.conditions[0].type: Required value: is required", "status.conditions[0].status: Required value",
			"status.conditions[0].lastTransitionTime: Required value", "status.conditions[0].reason: Required value"}},
	}
	for i := range cases {
		cases[i].sub, cases[i].old = "status", validatingSpec()
	}
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), cases)
}

// TestPolicyNameWarnings checks that updates warn about names that a create rejects.
func TestPolicyNameWarnings(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds(object.NewCache(1))[3:] {
		obj := k.New()
		obj.SetName("a.static.k8s.io")
		if got := k.Warnings(obj, nil, ""); len(got) != 0 {
			t.Errorf("%s: the warnings of a create are %q", k.Info().Kind, got)
		}
		if got := k.Warnings(obj, obj, ""); len(got) != 1 {
			t.Errorf("%s: the warnings of an update are %q, want one", k.Info().Kind, got)
		}
		if k.Info().Subresource("status") == nil {
			continue
		}
		if got := k.Warnings(obj, obj, "status"); len(got) != 1 {
			t.Errorf("%s: the warnings of a write of the status are %q, want one", k.Info().Kind, got)
		}
	}
}

func TestPolicyRows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	created := metav1.NewTime(now.Add(-5 * time.Second))
	check := func(k kind.Kind, body string, want ...any) {
		t.Helper()
		obj := read(t, k, hub, body)
		obj.SetCreationTimestamp(created)
		got, err := k.Row(obj, hub, now)
		if diff := gocmp.Diff(append(want, "5s"), got); err != nil || diff != "" {
			t.Errorf("the row of a %s (-want +got): %v\n%s", k.Info().Kind, err, diff)
		}
		if n := len(k.Columns(hub)); n != len(got) {
			t.Errorf("a %s has %d columns and %d cells", k.Info().Kind, n, len(got))
		}
	}
	cache := object.NewCache(1)
	check(validatingPolicyKind(cache), validatingSpec(validations("true", "false")), "p", int64(2), "<unset>")
	check(validatingPolicyKind(cache), validatingSpec(fooParams), "p", int64(1), "example.com/v1/Foo")
	check(mutatingPolicyKind(cache), mutatingSpec(), "p", int64(1), "<unset>")
	for _, k := range []kind.Kind{validatingBindingKind(cache), mutatingBindingKind(cache)} {
		check(k, bindingSpec(), "b", "p", "<unset>")
		check(k, bindingSpec(`paramRef:{"name":"x"}`), "b", "p", "*/x")
		check(k, bindingSpec(`paramRef:{"name":"x","namespace":"n"}`), "b", "p", "n/x")
		check(k, bindingSpec(`paramRef:{"selector":{"matchLabels":{"a":"b"}}}`), "b", "p",
			"&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}")
	}
}
