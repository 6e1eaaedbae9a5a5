package admissionregistration

import (
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
)

func TestPolicyRules(t *testing.T) {
	t.Parallel()
	match := func(changes ...string) string { return validatingSpec("matchConstraints:" + allPods(changes...)) }
	const at = "spec.matchConstraints."
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "resource names", body: match(`resourceNames:["a","b"]`)},
		{name: "the same resource name twice", body: match(`resourceNames:["a","a","/./."]`), want: []string{
			at + `resourceRules[0].resourceNames[1]: Duplicate value: "a"`,
			at + `resourceRules[0].resourceNames[2]: Invalid value: "/./.": may not contain '/'`}},
		{name: "no operations", body: match("operations:"), want: []string{at + "resourceRules[0].operations: Required value"}},
		{name: "all resources twice", body: match(`resources:["*/*","a"]`), want: []string{
			at + `resourceRules[0].resources: Invalid value: ["*/*","a"]: if '*/*' is present, must not specify other resources`}},
		{name: "no rules", body: validatingSpec("matchConstraints:{}"), want: []string{at + "resourceRules: Required value"}},
		{name: "an excluded rule", body: validatingSpec(`matchConstraints:{"resourceRules":` + rulesOf(allPods()) +
			`,"excludeResourceRules":` + rulesOf(allPods(`apiVersions:[""]`)) + `}`), want: []string{
			at + "excludeResourceRules[0].apiVersions[0]: Required value"}},
		{name: "an invalid selector", body: validatingSpec(`matchConstraints:{"resourceRules":` + rulesOf(allPods()) +
			`,"objectSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}`), want: []string{
			at + "objectSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"}},
	})
	incomplete := &validatingPolicy{}
	incomplete.Name, incomplete.Spec.MatchConstraints = "p", read(t, validatingPolicyKind(object.NewCache(1)), hub,
		validatingSpec()).(*validatingPolicy).Spec.MatchConstraints
	m := incomplete.Spec.MatchConstraints
	m.MatchPolicy, m.NamespaceSelector, m.ObjectSelector = nil, nil, nil
	errs := validateValidatingPolicy(incomplete, nil, "")
	want := "spec.failurePolicy, spec.matchConstraints.matchPolicy, spec.matchConstraints.namespaceSelector, " +
		"spec.matchConstraints.objectSelector, spec.validations, spec.auditAnnotations"
	var fields []string
	for _, e := range errs {
		fields = append(fields, e.Field)
	}
	if got := strings.Join(fields, ", "); got != want {
		t.Errorf("the errors of a policy without defaults are in %s, want %s", got, want)
	}
}

// rulesOf returns the list of rules.
func rulesOf(match string) string {
	return strings.TrimSuffix(strings.TrimPrefix(match, `{"resourceRules":`), "}")
}

func TestParamKinds(t *testing.T) {
	t.Parallel()
	params := func(apiVersion, kind string) string {
		return validatingSpec(`paramKind:{"apiVersion":"` + apiVersion + `","kind":"` + kind + `"}`)
	}
	const (
		at    = "spec.paramKind."
		label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
	)
	checkPolicies(t, validatingPolicyKind(object.NewCache(1)), []policyCase{
		{name: "a core kind", body: params("v1", "ConfigMap")},
		{name: "nothing", body: validatingSpec("paramKind:{}"), want: []string{at + "apiVersion: Required value",
			at + "kind: Required value"}},
		{name: "no version", body: params("/", "Foo"), want: []string{
			at + `apiVersion: Invalid value: "/": version must be specified`}},
		{name: "two slashes", body: params("a/b/c", "Foo"), want: []string{
			at + `apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`}},
		{name: "an invalid version", body: params("example.com/V1", "Foo"), want: []string{
			at + `apiVersion: Invalid value: "V1": ` + label}},
		{name: "an invalid group", body: params("!/v1", "F!"), want: []string{
			at + `apiVersion: Invalid value: "!": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
			at + `kind: Invalid value: "F!": may have mixed case, but should otherwise match: ` + label}},
	})
}
