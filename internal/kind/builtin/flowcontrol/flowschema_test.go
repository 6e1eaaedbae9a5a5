package flowcontrol

import (
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// rule is an object, optionally with its old state, and the expected errors.
type rule struct {
	name, body, old string
	sub             string
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
			for _, e := range k.Validate(t.Context(), read(t, k, r.body), old, r.sub) {
				got = append(got, e.Error())
			}
			if diff := gocmp.Diff(r.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, k kind.Kind, body string) kind.Object {
	t.Helper()
	form := object.Form{APIVersion: "flowcontrol.apiserver.k8s.io/v1"}
	obj, strict, err := k.DecodeRequest(form, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	return obj
}

const toLevel = `"priorityLevelConfiguration":{"name":"a"}`

// withRule returns a schema with a rule of these fields.
func withRule(fields ...string) string {
	return `{"spec":{` + toLevel + `,"rules":[{` + strings.Join(fields, ",") + `}]}}`
}

const (
	toAdmins = `"subjects":[{"kind":"Group","group":{"name":"admins"}}]`
	ofURLs   = `"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]`
	allPods  = `"resourceRules":[{"verbs":["get","watch"],"apiGroups":[""],"resources":["pods"],"namespaces":["*"]}]`
)

// TestSchemaRules checks the rules of ValidateFlowSchema (pkg/apis/flowcontrol/validation).
func TestSchemaRules(t *testing.T) {
	t.Parallel()
	check(t, schemaKind(object.NewCache(1)), []rule{
		{name: "no rules", body: `{"spec":{` + toLevel + `}}`},
		{name: "rules", body: withRule(toAdmins, ofURLs, allPods)},
		{name: "nothing", body: `{}`,
			want: []string{"spec.priorityLevelConfiguration.name: Required value: must reference a priority level"}},
		{name: "a level with a bad name", body: `{"spec":{"priorityLevelConfiguration":{"name":"A"}}}`,
			want: []string{`spec.priorityLevelConfiguration.name: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		{name: "a negative precedence", body: `{"spec":{"matchingPrecedence":-1,` + toLevel + `}}`,
			want: []string{"spec.matchingPrecedence: Invalid value: -1: must be a positive value"}},
		{name: "the lowest precedence", body: `{"spec":{"matchingPrecedence":10000,` + toLevel + `}}`},
		{name: "a lower precedence", body: `{"spec":{"matchingPrecedence":10001,` + toLevel + `}}`,
			want: []string{"spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"}},
		{name: "the highest precedence", body: `{"spec":{"matchingPrecedence":1,` + toLevel + `}}`,
			want: []string{"spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"}},
		{name: "a distinguisher", body: `{"spec":{"distinguisherMethod":{"type":"ByUser"},` + toLevel + `}}`},
		{name: "an unknown distinguisher", body: `{"spec":{"distinguisherMethod":{"type":"x"},` + toLevel + `}}`,
			want: []string{`spec.distinguisherMethod.type: Unsupported value: {"Type":"x"}: supported values: "ByNamespace", "ByUser"`}},
		{name: "an empty rule", body: withRule(), want: []string{
			"spec.rules[0].subjects: Required value: subjects must contain at least one value",
			"spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty"}},
		{name: "conditions in an update", old: `{}`,
			body: `{"spec":{` + toLevel + `},"status":{"conditions":[{"type":"A"},{"type":"A"},{}]}}`,
			want: []string{
				`status.conditions[1].type: Duplicate value: "A"`,
				"status.conditions[2].type: Required value"}},
		{name: "conditions", sub: statusSub, old: `{}`, body: `{"status":{"conditions":[{"type":"A"},{"type":"A"}]}}`,
			want: []string{`status.conditions[1].type: Duplicate value: "A"`}},
		{name: "a mandatory schema", body: `{"metadata":{"name":"exempt"},"spec":{"priorityLevelConfiguration":` +
			`{"name":"exempt"},"matchingPrecedence":2}}`, want: []string{
			`spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":2,` +
				`"DistinguisherMethod":null,"Rules":null}: spec of 'exempt' must equal the fixed value`}},
	})
}

// TestSubjects checks the rules of ValidateFlowSchemaSubject.
func TestSubjects(t *testing.T) {
	t.Parallel()
	subject := func(fields string) string { return withRule(`"subjects":[{`+fields+`}]`, ofURLs) }
	const at = "spec.rules[0].subjects[0]"
	const three = `,"user":{"name":"u"},"group":{"name":"g"},"serviceAccount":{"namespace":"n","name":"*"}`
	forbidden := map[string]string{
		"user":           at + ".user: Forbidden: user is forbidden when subject kind is not 'User'",
		"group":          at + ".group: Forbidden: group is forbidden when subject kind is not 'Group'",
		"serviceAccount": at + ".serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
	}
	check(t, schemaKind(object.NewCache(1)), []rule{
		{name: "a user", body: subject(`"kind":"User","user":{"name":"u"}`)},
		{name: "a service account", body: subject(`"kind":"ServiceAccount","serviceAccount":{"namespace":"n","name":"s"}`)},
		{name: "an unknown kind", body: subject(`"kind":"x"` + three),
			want: []string{at + `.kind: Unsupported value: "x": supported values: "Group", "ServiceAccount", "User"`}},
		{name: "a user and others", body: subject(`"kind":"User"` + three),
			want: []string{forbidden["serviceAccount"], forbidden["group"]}},
		{name: "a group and others", body: subject(`"kind":"Group"` + three),
			want: []string{forbidden["serviceAccount"], forbidden["user"]}},
		{name: "a service account and others", body: subject(`"kind":"ServiceAccount"` + three),
			want: []string{forbidden["user"], forbidden["group"]}},
		{name: "no user", body: subject(`"kind":"User"`),
			want: []string{at + ".user: Required value: user is required when subject kind is 'User'"}},
		{name: "no group", body: subject(`"kind":"Group"`),
			want: []string{at + ".group: Required value: group is required when subject kind is 'Group'"}},
		{name: "no service account", body: subject(`"kind":"ServiceAccount"`),
			want: []string{at + ".serviceAccount: Required value: serviceAccount is required when subject kind is 'ServiceAccount'"}},
		{name: "a user without a name", body: subject(`"kind":"User","user":{}`), want: []string{at + ".user.name: Required value"}},
		{name: "a group without a name", body: subject(`"kind":"Group","group":{}`), want: []string{at + ".group.name: Required value"}},
		{name: "a service account without names", body: subject(`"kind":"ServiceAccount","serviceAccount":{}`), want: []string{
			at + ".serviceAccount.name: Required value",
			at + ".serviceAccount.namespace: Required value: must specify namespace for service account"}},
		{name: "a service account in a bad namespace",
			body: subject(`"kind":"ServiceAccount","serviceAccount":{"namespace":"*","name":"*"}`), want: []string{
				at + `.serviceAccount.namespace: Invalid value: "*": ` + dnsLabel}},
	})
}

const dnsLabel = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and " +
	"end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

// TestPolicyRules checks the rules of ValidateFlowSchemaResourcePolicyRule and ValidateFlowSchemaNonResourcePolicyRule.
func TestPolicyRules(t *testing.T) {
	t.Parallel()
	resources := func(fields string) string { return withRule(toAdmins, `"resourceRules":[{`+fields+`}]`) }
	urls := func(all string) string {
		return withRule(toAdmins, `"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":[`+all+`]}]`)
	}
	const at, url = "spec.rules[0].resourceRules[0]", "spec.rules[0].nonResourceRules[0]"
	check(t, schemaKind(object.NewCache(1)), []rule{
		{name: "cluster scope", body: resources(`"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true`)},
		{name: "nothing", body: resources(``), want: []string{
			at + ".verbs: Required value: verbs must contain at least one value",
			at + ".apiGroups: Required value: resource rules must supply at least one api group",
			at + ".resources: Required value: resource rules must supply at least one resource",
			at + ".namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace"}},
		{name: "wildcards and others",
			body: resources(`"verbs":["*","a"],"apiGroups":["*","a"],"resources":["*","a"],"namespaces":["*","A"]`),
			want: []string{
				at + `.verbs: Invalid value: ["*","a"]: if '*' is present, must not specify other verbs`,
				at + `.apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other api groups`,
				at + `.resources: Invalid value: ["*","a"]: if '*' is present, must not specify other resources`,
				at + `.namespaces: Invalid value: ["*","A"]: if '*' is present, must not specify other namespaces`}},
		{name: "a bad namespace and an unknown verb",
			body: resources(`"verbs":["get","a"],"apiGroups":[""],"resources":["a"],"namespaces":["a","A"]`),
			want: []string{
				at + `.verbs: Unsupported value: ["get","a"]: supported values: "create", "delete", "deletecollection", ` +
					`"get", "list", "patch", "proxy", "update", "watch"`,
				at + `.namespaces[1]: Invalid value: "A": each member of this list must be '*' or a DNS-1123 label; ` + dnsLabel}},
		{name: "URLs", body: urls(`"/","/a","/a/*"`)},
		{name: "bad URLs", body: urls(`"","a","/a b","/a//b","/a*","/*/*"`), want: []string{
			url + `.nonResourceURLs[0]: Invalid value: "": must not be empty`,
			url + `.nonResourceURLs[1]: Invalid value: "a": must start with slash`,
			url + `.nonResourceURLs[2]: Invalid value: "/a b": must not contain white-space`,
			url + `.nonResourceURLs[3]: Invalid value: "/a//b": must not contain double slash`,
			url + `.nonResourceURLs[4]: Invalid value: "/a*": wildcard can only do suffix matching`,
			url + `.nonResourceURLs[5]: Invalid value: "/*/*": wildcard can only do suffix matching`}},
		{name: "all URLs and another", body: urls(`"*","x"`), want: []string{
			url + `.nonResourceURLs: Invalid value: ["*","x"]: if '*' is present, must not specify other non-resource URLs`}},
		{name: "no URLs and no verbs", body: withRule(toAdmins, `"nonResourceRules":[{}]`), want: []string{
			url + ".verbs: Required value: verbs must contain at least one value",
			url + ".nonResourceURLs: Required value: nonResourceURLs must contain at least one value"}},
	})
}

// TestManyErrorsAreQuicklyFound validates as many bad subjects as an object can have.
func TestManyErrorsAreQuicklyFound(t *testing.T) {
	t.Parallel()
	s := &schema{Spec: flowcontrolv1.FlowSchemaSpec{Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
		Subjects: make([]flowcontrolv1.Subject, kind.MaxValues)}}}}
	started := time.Now()
	errs := schemaKind(object.NewCache(1)).Validate(t.Context(), s, nil, "")
	if took := time.Since(started); took > 5*time.Second || len(errs) < kind.MaxValues {
		t.Errorf("%d errors after %v", len(errs), took)
	}
}

// TestStatusWrites checks that a write of the status changes nothing else, and that only the spec changes the
// generation (pkg/registry/flowcontrol).
func TestStatusWrites(t *testing.T) {
	t.Parallel()
	meta := func(label string, generation int64) metav1.ObjectMeta {
		return metav1.ObjectMeta{Labels: map[string]string{label: ""}, Annotations: map[string]string{label: ""},
			Finalizers: []string{"a.b/" + label}, Generation: generation}
	}
	oldSchema, oldLevel := &schema{ObjectMeta: meta("old", 3)}, &level{ObjectMeta: meta("old", 3)}
	newSchema, newLevel := &schema{ObjectMeta: meta("new", 9)}, &level{ObjectMeta: meta("new", 9)}
	newSchema.Spec.MatchingPrecedence, newLevel.Spec.Type = 7, limited
	newSchema.Status.Conditions, newLevel.Status.Conditions = make([]flowcontrolv1.FlowSchemaCondition, 1),
		make([]flowcontrolv1.PriorityLevelConfigurationCondition, 1)
	for _, c := range []struct {
		kind     kind.Kind
		old, new kind.Object
		want     [3]int // conditions after a write of the status, an update, and a create
	}{
		{schemaKind(object.NewCache(1)), oldSchema, newSchema, [3]int{1, 0, 0}},
		{levelKind(object.NewCache(1)), oldLevel, newLevel, [3]int{1, 0, 0}},
	} {
		count := func(obj kind.Object) int {
			if s, ok := obj.(*schema); ok {
				return len(s.Status.Conditions)
			}
			return len(obj.(*level).Status.Conditions)
		}
		status, update, create := copyOf(c.new), copyOf(c.new), copyOf(c.new)
		c.kind.Prepare(status, c.old, statusSub)
		c.kind.Prepare(update, c.old, "")
		c.kind.Prepare(create, nil, "")
		if got := [3]int{count(status), count(update), count(create)}; got != c.want {
			t.Errorf("%T: conditions %v, want %v", c.new, got, c.want)
		}
		generations := [3]int64{status.GetGeneration(), update.GetGeneration(), create.GetGeneration()}
		if generations != [3]int64{3, 4, 1} {
			t.Errorf("%T: generations %v", c.new, generations)
		}
		if diff := gocmp.Diff(meta("old", 3).Annotations, status.GetAnnotations()); diff != "" ||
			len(status.GetLabels()) != 1 || status.GetFinalizers()[0] != "a.b/old" || status.GetLabels()["new"] != "" {
			t.Errorf("%T: a write of the status changed the metadata: %v", c.new, status)
		}
	}
}

func copyOf(obj kind.Object) kind.Object { return obj.DeepCopyObject().(kind.Object) }

func TestSchemaRows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	k := schemaKind(object.NewCache(1))
	s := read(t, k, `{"metadata":{"name":"s"},"spec":{`+toLevel+`}}`).(*schema)
	s.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
	for _, want := range [][]any{
		{"s", "a", int64(1000), "<none>", "60s", "?"},
		{"s", "a", int64(1000), "ByUser", "60s", "True"},
	} {
		got, err := k.Row(s, "", now)
		if diff := gocmp.Diff(want, got); diff != "" || err != nil || len(got) != len(k.Columns("")) {
			t.Errorf("%v, cells (-want +got):\n%s", err, diff)
		}
		s.Spec.DistinguisherMethod = &flowcontrolv1.FlowDistinguisherMethod{Type: "ByUser"}
		s.Status.Conditions = []flowcontrolv1.FlowSchemaCondition{{Type: "A", Status: "False"},
			{Type: flowcontrolv1.FlowSchemaConditionDangling, Status: "True"}}
	}
}
