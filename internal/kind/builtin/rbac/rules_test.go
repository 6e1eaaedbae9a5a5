package rbac

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// rule is an object, optionally with its old state, and the expected errors.
type rule struct {
	name, body, old string
	want            []string
}

// check validates each object, a JSON body without kind and apiVersion, and compares the errors.
func check(t *testing.T, k kind.Kind, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if r.old != "" {
				old = read(t, k, r.old)
			}
			var got []string
			for _, e := range k.Validate(t.Context(), read(t, k, r.body), old, "") {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, k kind.Kind, body string) kind.Object {
	t.Helper()
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: apiVersion}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	return obj
}

const apiVersion = "rbac.authorization.k8s.io/v1"

// kinds returns the kinds by plural name.
func kinds() map[string]kind.Kind {
	all := map[string]kind.Kind{}
	for _, k := range Kinds(object.NewCache(1)) {
		all[k.Info().Plural] = k
	}
	return all
}

// TestRules and TestRuleUpdates check the rules of ValidatePolicyRule (pkg/apis/rbac/validation) and of
// Validate_PolicyRule (pkg/apis/rbac/v1).
func TestRules(t *testing.T) {
	t.Parallel()
	const inNamespace = "namespaced rules cannot apply to non-resource URLs"
	const both = "rules cannot apply to both regular resources and non-resource URLs"
	for name, rules := range map[string][]rule{
		"roles": {
			{name: "no rules", body: `{}`},
			{name: "a rule", body: `{"rules":[{"apiGroups":[""],"resources":["pods/log"],"verbs":["*"]}]}`},
			{name: "URLs", body: `{"rules":[{"nonResourceURLs":["/x"],"verbs":["get"]}]}`,
				want: []string{`rules[0].nonResourceURLs: Invalid value: ["/x"]: ` + inNamespace}},
			{name: "URLs and a resource name",
				body: `{"rules":[{"nonResourceURLs":["/x"],"resourceNames":["a"],"verbs":["get"]}]}`,
				want: []string{`rules[0].nonResourceURLs: Invalid value: ["/x"]: ` + inNamespace,
					`rules[0].nonResourceURLs: Invalid value: ["/x"]: ` + both}},
		},
		"clusterroles": {
			{name: "no rules", body: `{"rules":[]}`},
			{name: "URLs", body: `{"rules":[{"nonResourceURLs":["/x"],"verbs":["get"]}]}`},
			{name: "URLs and a group",
				body: `{"rules":[{"nonResourceURLs":["/x"],"apiGroups":[""],"verbs":["get"]}]}`,
				want: []string{`rules[0].nonResourceURLs: Invalid value: ["/x"]: ` + both}},
			{name: "URLs and a resource, and no verb",
				body: `{"rules":[{"nonResourceURLs":["/x"],"resources":["pods"]}]}`,
				want: []string{`rules[0].nonResourceURLs: Invalid value: ["/x"]: ` + both,
					"rules[0].verbs: Required value"}},
			{name: "empty rules", body: `{"rules":[{},{"apiGroups":[""],"verbs":["get"]}]}`, want: []string{
				"rules[0].apiGroups: Required value: resource rules must supply at least one api group",
				"rules[0].resources: Required value: resource rules must supply at least one resource",
				"rules[1].resources: Required value: resource rules must supply at least one resource",
				"rules[0].verbs: Required value"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, kinds()[name], rules)
		})
	}
}

// TestRuleUpdates checks that an update reports missing verbs with the text of the hand-written check if the rules do
// not change, and otherwise with that of the declarative rule.
func TestRuleUpdates(t *testing.T) {
	t.Parallel()
	const verbless = `{"rules":[{"resources":["pods"]}]}`
	const noGroup = "rules[0].apiGroups: Required value: resource rules must supply at least one api group"
	for _, name := range []string{"roles", "clusterroles"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, kinds()[name], []rule{
				{name: "unchanged", body: verbless, old: `{"rules":[{"resources":["pods"],"verbs":[]}]}`,
					want: []string{"rules[0].verbs: Required value: verbs must contain at least one value", noGroup}},
				{name: "another resource", body: verbless, old: `{"rules":[{"resources":["nodes"]}]}`,
					want: []string{noGroup, "rules[0].verbs: Required value"}},
				{name: "from verbs", body: verbless, old: `{"rules":[{"resources":["pods"],"verbs":["get"]}]}`,
					want: []string{noGroup, "rules[0].verbs: Required value"}},
				{name: "another group", body: verbless, old: `{"rules":[{"resources":["pods"],"apiGroups":[""]}]}`,
					want: []string{noGroup, "rules[0].verbs: Required value"}},
				{name: "another name", body: verbless, old: `{"rules":[{"resources":["pods"],"resourceNames":["a"]}]}`,
					want: []string{noGroup, "rules[0].verbs: Required value"}},
				{name: "another URL", body: verbless, old: `{"rules":[{"resources":["pods"],"nonResourceURLs":["/"]}]}`,
					want: []string{noGroup, "rules[0].verbs: Required value"}},
				{name: "another rule", body: verbless, old: `{"rules":[{"resources":["pods"]},{}]}`,
					want: []string{noGroup, "rules[0].verbs: Required value"}},
				{name: "rules are removed", body: `{}`, old: verbless},
			})
		})
	}
}

const (
	subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
		"and must start and end with an alphanumeric character (e.g. 'example.com', " +
		`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	labelName = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
		"alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', " +
		"regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	labelValue = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " +
		"must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', " +
		"regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

// TestAggregationRules checks the rules of ValidateClusterRole and hasInvalidLabelValueInLabelSelector
// (pkg/registry/rbac/clusterrole).
func TestAggregationRules(t *testing.T) {
	t.Parallel()
	selectors := func(all string) string { return `{"aggregationRule":{"clusterRoleSelectors":[` + all + `]}}` }
	const at = "aggregationRule.clusterRoleSelectors[0]"
	const invalid = at + ": Invalid value: null: invalid label selector."
	badValue := selectors(`{"matchExpressions":[{"key":"a","operator":"In","values":["b","-"]}]}`)
	badLabel := selectors(`{"matchLabels":{"a":"-"}}`)
	check(t, kinds()["clusterroles"], []rule{
		{name: "a rule without selectors", body: `{"aggregationRule":{}}`,
			want: []string{"aggregationRule.clusterRoleSelectors: Required value: " +
				"at least one clusterRoleSelector required if aggregationRule is non-nil"}},
		{name: "all roles", body: selectors(`{}`)},
		{name: "selectors", body: selectors(`{"matchLabels":{"a":"b"}},{"matchExpressions":[
			{"key":"example.com/a","operator":"In","values":["b",""]},{"key":"a","operator":"NotIn","values":["b"]},
			{"key":"a","operator":"Exists"},{"key":"a","operator":"DoesNotExist"}]}`)},
		{name: "bad labels", body: selectors(`{"matchLabels":{"b":"-","-":"a"}}`), want: []string{
			at + `.matchLabels: Invalid value: "-": ` + labelName,
			at + `.matchLabels: Invalid value: "-": ` + labelValue, invalid}},
		{name: "bad expressions", body: selectors(`{"matchExpressions":[{"key":"a","operator":"In"},
			{"key":"a","operator":"Exists","values":["b"]},{"key":"-","operator":"Equals"}]}`), want: []string{
			at + ".matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
			at + ".matchExpressions[1].values: Forbidden: " +
				"may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
			at + `.matchExpressions[2].operator: Invalid value: "Equals": not a valid selector operator`,
			at + `.matchExpressions[2].key: Invalid value: "-": ` + labelName, invalid}},
		{name: "a bad value", body: badValue,
			want: []string{at + `.matchExpressions[0].values[1]: Invalid value: "-": ` + labelValue, invalid}},
		{name: "a bad value is added", body: badValue, old: selectors(`{}`),
			want: []string{at + `.matchExpressions[0].values[1]: Invalid value: "-": ` + labelValue, invalid}},
		{name: "a bad value is added to a role without a rule", body: badValue, old: `{}`,
			want: []string{at + `.matchExpressions[0].values[1]: Invalid value: "-": ` + labelValue, invalid}},
		{name: "a bad value stays", body: badValue, old: badValue, want: []string{invalid}},
		{name: "a bad value replaces a bad label", body: badValue, old: badLabel, want: []string{invalid}},
		{name: "a bad label stays", body: badLabel, old: badLabel,
			want: []string{at + `.matchLabels: Invalid value: "-": ` + labelValue, invalid}},
		{name: "bad rules come first", body: `{"rules":[{"verbs":["get"],"apiGroups":[""]}],"aggregationRule":{}}`,
			want: []string{"rules[0].resources: Required value: resource rules must supply at least one resource",
				"aggregationRule.clusterRoleSelectors: Required value: " +
					"at least one clusterRoleSelector required if aggregationRule is non-nil"}},
	})
}
