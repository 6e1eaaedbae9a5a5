package admissionregistration

import (
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// bindingSpec returns a binding, valid for both kinds, in which members of the spec are replaced.
func bindingSpec(changes ...string) string {
	return `{"metadata":{"name":"b"},"spec":` + members(map[string]string{"policyName": `"p"`}, changes...) + `}`
}

// denySpec is bindingSpec for a validating policy.
func denySpec(changes ...string) string {
	return bindingSpec(append([]string{`validationActions:["Deny"]`}, changes...)...)
}

// TestBindings checks the rules of both kinds.
func TestBindings(t *testing.T) {
	t.Parallel()
	param := func(fields string) string { return `paramRef:{` + fields + `}` }
	both := []struct {
		name, change string
		want         []string
	}{
		{"a name", param(`"name":"x","namespace":"n","parameterNotFoundAction":"Deny"`), nil},
		{"a selector", param(`"selector":{},"parameterNotFoundAction":"Allow"`), nil},
		{"neither", param(``), []string{"spec.paramRef: Required value: one of name or selector must be specified",
			"spec.paramRef.parameterNotFoundAction: Required value"}},
		{"both", param(`"name":"x","selector":{},"parameterNotFoundAction":""`), []string{
			"spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
			"spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
			"spec.paramRef.parameterNotFoundAction: Required value"}},
		{"an unknown action", param(`"name":"a/b","parameterNotFoundAction":"Warn"`), []string{
			`spec.paramRef.name: Invalid value: "a/b": may not contain '/'`,
			`spec.paramRef.parameterNotFoundAction: Unsupported value: "Warn": supported values: "Deny", "Allow"`}},
		{"an invalid policy name", `policyName:"a/b"`, []string{
			`spec.policyName: Invalid value: "a/b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		{"no rules", "matchResources:{}", nil},
		{"an unknown match policy", `matchResources:{"matchPolicy":"Maybe"}`, []string{
			`spec.matchResources.matchPolicy: Unsupported value: "Maybe": supported values: "Equivalent", "Exact"`}},
	}
	for k, body := range map[kind.Kind]func(...string) string{
		validatingBindingKind(object.NewCache(1)): denySpec, mutatingBindingKind(object.NewCache(1)): bindingSpec} {
		var cases []policyCase
		for _, c := range both {
			cases = append(cases, policyCase{name: k.Info().Kind + " with " + c.name, body: body(c.change), want: c.want})
		}
		checkPolicies(t, k, cases)
	}
}

// TestValidatingBindings follows TestValidateValidatingAdmissionPolicyBinding of Kubernetes'
// pkg/apis/admissionregistration. Required fields are checked declaratively there, and reported last.
func TestValidatingBindings(t *testing.T) {
	t.Parallel()
	manyActions := "validationActions:[" + strings.Repeat(`"Deny",`, 10_000) + `"Deny"]`
	checkPolicies(t, validatingBindingKind(object.NewCache(1)), []policyCase{
		{name: "two actions", body: denySpec(`validationActions:["Deny","Audit"]`)},
		{name: "nothing", body: bindingSpec("policyName:", "paramRef:{}"), want: []string{
			"spec.paramRef: Required value: one of name or selector must be specified",
			"spec.paramRef.parameterNotFoundAction: Required value",
			"spec.policyName: Required value", "spec.validationActions: Required value"}},
		{name: "actions", body: denySpec(`validationActions:["Deny","Deny","Reject","Warn"]`), want: []string{
			`spec.validationActions[1]: Duplicate value: "Deny"`,
			`spec.validationActions[2]: Unsupported value: "Reject": supported values: "Audit", "Deny", "Warn"`,
			`spec.validationActions: Invalid value: ["Deny","Deny","Reject","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)`}},
		{name: "a rule for deletes", body: denySpec("matchResources:" + allPods(`operations:["DELETE"]`))},
		{name: "many actions", body: denySpec(manyActions), want: []string{
			"spec: Invalid value: the rules and selectors have 10001 values in all: at most 10000 are allowed"}},
		{name: "a reserved name", body: strings.Replace(denySpec("policyName:"), `"b"`, `"b.static.k8s.io"`, 1), want: []string{
			`metadata.name: Invalid value: "b.static.k8s.io": names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API`,
			"spec.policyName: Required value"}},
	})
}

// TestMutatingBindings follows TestValidateMutatingAdmissionPolicyBinding.
func TestMutatingBindings(t *testing.T) {
	t.Parallel()
	manyValues := `matchResources:{"objectSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["x"` +
		strings.Repeat(`,"x"`, 10_000) + `]}]}}`
	checkPolicies(t, mutatingBindingKind(object.NewCache(1)), []policyCase{
		{name: "nothing", body: bindingSpec("policyName:", "paramRef:{}"), want: []string{
			"spec.policyName: Required value",
			"spec.paramRef: Required value: one of name or selector must be specified",
			"spec.paramRef.parameterNotFoundAction: Required value"}},
		{name: "many values", body: bindingSpec(manyValues), want: []string{
			"spec: Invalid value: the rules and selectors have 10002 values in all: at most 10000 are allowed"}},
		{name: "many values before", old: bindingSpec(manyValues), body: bindingSpec(manyValues)},
		{name: "a rule for deletes", body: bindingSpec("matchResources:" + allPods(`operations:["DELETE"]`)), want: []string{
			`spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"`}},
	})
}
