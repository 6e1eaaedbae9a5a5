package admissionregistration

import (
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
)

// mutatingSpec returns a valid policy in which members of the spec are replaced.
func mutatingSpec(changes ...string) string {
	return `{"metadata":{"name":"p"},"spec":` + members(map[string]string{"matchConstraints": allPods(),
		"mutations": "[" + applied("Object{}") + "]", "reinvocationPolicy": `"Never"`}, changes...) + `}`
}

func applied(expression string) string {
	return `{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":` + quoted(expression) + `}}`
}

func patched(expression string) string {
	return `{"patchType":"JSONPatch","jsonPatch":{"expression":` + quoted(expression) + `}}`
}

func mutations(all ...string) string { return "mutations:[" + strings.Join(all, ",") + "]" }

// TestMutatingPolicies follows TestValidateMutatingAdmissionPolicy of Kubernetes' pkg/apis/admissionregistration.
func TestMutatingPolicies(t *testing.T) {
	t.Parallel()
	const at = "spec.mutations[0]."
	checkPolicies(t, mutatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "valid", body: mutatingSpec(fooParams, mutations(
			applied(`Object{metadata: Object.metadata{labels: Object.metadata.labels{a: params.x}}}`),
			patched(`[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "c"}]`)))},
		{name: "variables", body: mutatingSpec(`variables:[{"name":"n","expression":"1"}]`,
			mutations(applied("Object{spec: Object.spec{replicas: variables.n}}")))},
		{name: "nothing", body: `{"metadata":{"name":"p"}}`, want: []string{
			"spec.matchConstraints: Required value",
			"spec.mutations: Required value: mutations must contain at least one item",
			"spec.reinvocationPolicy: Required value"}},
		{name: "an unknown reinvocation policy", body: mutatingSpec(`reinvocationPolicy:"Always"`), want: []string{
			`spec.reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"`}},
		{name: "a condition", body: mutatingSpec(`matchConditions:[{"name":"a","expression":"Object{}"}]`), want: []string{
			"spec.matchConditions[0].expression: Invalid value: \"Object{}\": compilation failed: ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')\n | Object{}\n | ......^"}},
		{name: "deletes", body: mutatingSpec("matchConstraints:" + allPods(`operations:["DELETE"]`)), want: []string{
			`spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"`}},
		{name: "an unknown operation", body: mutatingSpec("matchConstraints:" + allPods(`operations:["PATCH"]`)), want: []string{
			`spec.matchConstraints.resourceRules[0].operations[0]: Unsupported value: "PATCH": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`,
			`spec.matchConstraints.resourceRules.operations: Unsupported value: "PATCH": supported values: "*", "CONNECT", "CREATE", "UPDATE"`}},
		{name: "no type", body: mutatingSpec(mutations(`{"jsonPatch":{"expression":"["}}`)), want: []string{
			at + "patchType: Required value"}},
		{name: "an unknown type", body: mutatingSpec(mutations(`{"patchType":"Merge"}`)), want: []string{
			at + `patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch"`}},
		{name: "the other type", body: mutatingSpec(mutations(`{"patchType":"JSONPatch","applyConfiguration":{"expression":"Object{}"}}`,
			`{"patchType":"ApplyConfiguration","jsonPatch":{"expression":"[]"}}`)), want: []string{
			at + "jsonPatch: Required value: must be specified when patchType is JSONPatch",
			at + `applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch`,
			"spec.mutations[1].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration",
			`spec.mutations[1].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration`}},
		{name: "blank expressions", body: mutatingSpec(mutations(applied(" "), patched(" "))), want: []string{
			at + "applyConfiguration.expression: Required value", "spec.mutations[1].jsonPatch.expression: Required value"}},
		{name: "results of other types", body: mutatingSpec(mutations(applied("[]"), patched("[1]"))), want: []string{
			at + `applyConfiguration.expression: Invalid value: "[]": must evaluate to Object but got list(dyn)`,
			`spec.mutations[1].jsonPatch.expression: Invalid value: "[1]": must evaluate to list(JSONPatch) but got list(int)`}},
		{name: "an unknown variable", body: mutatingSpec(mutations(applied("variables.x"))), want: []string{
			at + "applyConfiguration.expression: Invalid value: \"variables.x\": compilation failed: ERROR: <input>:1:10: undefined field 'x'\n | variables.x\n | .........^"}},
		{name: "a reserved name", body: strings.Replace(mutatingSpec(), `"p"`, `"p.static.k8s.io"`, 1), want: []string{
			`metadata.name: Invalid value: "p.static.k8s.io": names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API`}},
	})
}

func TestMutatingPolicyUpdates(t *testing.T) {
	t.Parallel()
	const invalid = `Object{`
	checkPolicies(t, mutatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "unchanged expressions", old: mutatingSpec(mutations(applied(invalid), patched(invalid))),
			body: mutatingSpec(mutations(patched(invalid), applied(invalid)), `failurePolicy:"Ignore"`)},
		{name: "an expression of the other type", old: mutatingSpec(mutations(applied("[]"))),
			body: mutatingSpec(mutations(patched("Object{}"))), want: []string{
				`spec.mutations[0].jsonPatch.expression: Invalid value: "Object{}": must evaluate to list(JSONPatch) but got Object`}},
		{name: "parameters removed", old: mutatingSpec(fooParams, mutations(applied("params.x"))),
			body: mutatingSpec(mutations(applied("params.x"))), want: []string{
				`spec.mutations[0].applyConfiguration.expression: Invalid value: "params.x": ` + noParams}},
	})
}
