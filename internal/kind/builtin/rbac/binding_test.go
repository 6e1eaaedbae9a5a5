package rbac

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reader is a reference to a cluster role.
const reader = `"roleRef":{"kind":"ClusterRole","name":"reader"}`

// supported is the detail of the error for the API group of a role, a user or a group.
const supported = `supported values: "rbac.authorization.k8s.io"`

// TestRoleRefs checks the rules of ValidateRoleBinding, ValidateClusterRoleBinding and their counterparts for updates
// (pkg/apis/rbac/validation), and of Validate_RoleRef (pkg/apis/rbac/v1).
func TestRoleRefs(t *testing.T) {
	t.Parallel()
	role := func(fields string) string { return `{"roleRef":{` + fields + `}}` }
	immutable := func(group, kind, name string) string {
		return `roleRef: Invalid value: {"APIGroup":"` + group + `","Kind":"` + kind + `","Name":"` + name +
			`"}: field is immutable`
	}
	shared := []rule{
		{name: "a cluster role", body: `{` + reader + `}`},
		{name: "a name with a colon", body: role(`"kind":"ClusterRole","name":"system:reader"`)},
		{name: "another group", body: role(`"apiGroup":"example.com","kind":"ClusterRole","name":"reader"`),
			want: []string{`roleRef.apiGroup: Unsupported value: "example.com": ` + supported}},
		{name: "a name of two segments", body: role(`"kind":"ClusterRole","name":"a/b"`),
			want: []string{`roleRef.name: Invalid value: "a/b": may not contain '/'`}},
		{name: "a name that is not a segment", body: role(`"kind":"ClusterRole","name":".."`),
			want: []string{`roleRef.name: Invalid value: "..": may not be '..'`}},
		{name: "no name, after the errors of subjects",
			body: `{"roleRef":{"kind":"ClusterRole"},"subjects":[{"kind":"Users"}]}`, want: []string{
				`subjects[0].kind: Unsupported value: "Users": supported values: "ServiceAccount", "User", "Group"`,
				"subjects[0].name: Required value", "roleRef.name: Required value"}},
		{name: "the same role", body: `{` + reader + `}`, old: `{` + reader + `}`},
		{name: "no name, as before", body: role(`"kind":"ClusterRole"`), old: role(`"kind":"ClusterRole"`),
			want: []string{"roleRef.name: Required value"}},
		{name: "another name", body: role(`"kind":"ClusterRole","name":"other"`), old: `{` + reader + `}`,
			want: []string{immutable("rbac.authorization.k8s.io", "ClusterRole", "other")}},
		{name: "the name is removed", old: `{` + reader + `}`,
			body: `{"roleRef":{"kind":"ClusterRole"},"subjects":[{"kind":"User"}]}`, want: []string{
				"roleRef.name: Required value", immutable("rbac.authorization.k8s.io", "ClusterRole", ""),
				"subjects[0].name: Required value"}},
	}
	for name, rules := range map[string][]rule{
		"rolebindings": {
			{name: "a role", body: role(`"kind":"Role","name":"reader"`)},
			{name: "another kind", body: role(`"kind":"Roles","name":"reader"`),
				want: []string{`roleRef.kind: Unsupported value: "Roles": supported values: "Role", "ClusterRole"`}},
			{name: "no reference", body: `{}`, want: []string{
				`roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"`,
				"roleRef.name: Required value"}},
			{name: "a cluster role instead", body: `{` + reader + `}`, old: role(`"kind":"Role","name":"reader"`),
				want: []string{immutable("rbac.authorization.k8s.io", "ClusterRole", "reader")}},
		},
		"clusterrolebindings": {
			{name: "a role", body: role(`"kind":"Role","name":"reader"`),
				want: []string{`roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, kinds()[name], append(rules, shared...))
		})
	}
}

// TestSubjects checks the rules of ValidateRoleBindingSubject and Validate_Subject.
func TestSubjects(t *testing.T) {
	t.Parallel()
	subject := func(fields string) string { return `{` + reader + `,"subjects":[{` + fields + `}]}` }
	shared := []rule{
		{name: "subjects", body: `{` + reader + `,"subjects":[{"kind":"User","name":"jane doe"},
			{"kind":"Group","name":"system:masters"},{"kind":"ServiceAccount","name":"robot","namespace":"default"}]}`},
		{name: "a user of another group", body: subject(`"kind":"User","name":"jane","apiGroup":"example.com"`),
			want: []string{`subjects[0].apiGroup: Unsupported value: "example.com": ` + supported}},
		{name: "a group of another group", body: subject(`"kind":"Group","name":"devs","apiGroup":"v1"`),
			want: []string{`subjects[0].apiGroup: Unsupported value: "v1": ` + supported}},
		{name: "an account of a group",
			body: subject(`"kind":"ServiceAccount","name":"robot","namespace":"a","apiGroup":"v1"`),
			want: []string{`subjects[0].apiGroup: Unsupported value: "v1": supported values: ""`}},
		{name: "a bad name of an account", body: subject(`"kind":"ServiceAccount","name":"Robot","namespace":"a"`),
			want: []string{`subjects[0].name: Invalid value: "Robot": ` + subdomain}},
		{name: "an account without a name", body: subject(`"kind":"ServiceAccount","apiGroup":"v1","namespace":"a"`),
			want: []string{`subjects[0].apiGroup: Unsupported value: "v1": supported values: ""`,
				"subjects[0].name: Required value"}},
		{name: "no name, as before", body: subject(`"kind":"Users"`), old: subject(`"kind":"Users"`),
			want: []string{"subjects[0].name: Required value",
				`subjects[0].kind: Unsupported value: "Users": supported values: "ServiceAccount", "User", "Group"`}},
		{name: "a kind is added", body: subject(`"kind":"Users"`), old: subject(``), want: []string{
			`subjects[0].kind: Unsupported value: "Users": supported values: "ServiceAccount", "User", "Group"`,
			"subjects[0].name: Required value"}},
		{name: "subjects are added", body: subject(`"kind":"User"`), old: `{` + reader + `}`,
			want: []string{"subjects[0].name: Required value"}},
	}
	account := subject(`"kind":"ServiceAccount","name":"robot"`)
	for name, rules := range map[string][]rule{
		"rolebindings": {{name: "an account of the binding's namespace", body: account}},
		"clusterrolebindings": {
			{name: "an account of no namespace", body: account,
				want: []string{"subjects[0].namespace: Required value"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, kinds()[name], append(rules, shared...))
		})
	}
}

// TestBindingDefaults checks the defaults of SetDefaults_RoleBinding and SetDefaults_Subject (pkg/apis/rbac/v1).
func TestBindingDefaults(t *testing.T) {
	t.Parallel()
	const body = `{"roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"User","name":"u"},
		{"kind":"Group","name":"g"},{"kind":"ServiceAccount","name":"s"},{"kind":"X"},{"kind":"User","apiGroup":"a"}]}`
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "r"}
	subjects := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "u"},
		{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "g"}, {Kind: "ServiceAccount", Name: "s"}, {Kind: "X"},
		{Kind: "User", APIGroup: "a"}}
	want := []binding{{ref, subjects}, {ref, subjects}}
	role := read(t, kinds()["rolebindings"], body).(*rbacv1.RoleBinding)
	clusterRole := read(t, kinds()["clusterrolebindings"], body).(*rbacv1.ClusterRoleBinding)
	got := []binding{{role.RoleRef, role.Subjects}, {clusterRole.RoleRef, clusterRole.Subjects}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(binding{})); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	const other = `{"roleRef":{"apiGroup":"a","kind":"ClusterRole","name":"r"}}`
	if group := read(t, kinds()["rolebindings"], other).(*rbacv1.RoleBinding).RoleRef.APIGroup; group != "a" {
		t.Errorf("the group of the role is %q, want a", group)
	}
}

// TestBindingTables checks printRoleBinding and printClusterRoleBinding (pkg/printers/internalversion).
func TestBindingTables(t *testing.T) {
	t.Parallel()
	const body = `{"metadata":{"name":"b","creationTimestamp":"2026-01-01T00:00:00Z"},` + reader + `,"subjects":[
		{"kind":"User","name":"ann"},{"kind":"ServiceAccount","name":"robot","namespace":"default"},
		{"kind":"X","name":"x"},{"kind":"Group","name":"devs"},{"kind":"User","name":"bob"},
		{"kind":"Group","name":"ops"},{"kind":"ServiceAccount","name":"lost"}]}`
	now := time.Date(2026, 1, 1, 0, 0, 5, 0, time.UTC)
	for name, described := range map[string]string{
		"rolebindings": "roleBinding", "clusterrolebindings": "clusterRoleBinding",
	} {
		k := kinds()[name]
		got, err := k.Row(read(t, k, body), apiVersion, now)
		want := []any{"b", "ClusterRole/reader", "5s", "ann, bob", "devs, ops", "default/robot, /lost"}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: cells (-want +got):\n%s%v", name, diff, err)
		}
		got, err = k.Row(read(t, k, `{}`), apiVersion, now)
		if diff := cmp.Diff([]any{"", "/", "<unknown>", "", "", ""}, got); diff != "" || err != nil {
			t.Errorf("%s: cells of an empty binding (-want +got):\n%s%v", name, diff, err)
		}
		checkColumns(t, k.Columns(apiVersion), described)
	}
}

func checkColumns(t *testing.T, columns []metav1.TableColumnDefinition, described string) {
	t.Helper()
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
		if subjects := c.Priority == 1; subjects && c.Description != c.Name+" in the "+described {
			t.Errorf("the column %s is described as %q", c.Name, c.Description)
		}
	}
	if got := strings.Join(names, " "); got != "Name Role Age Users Groups ServiceAccounts" {
		t.Errorf("%s: got columns %s", described, got)
	}
	if role := columns[1].Description; !strings.HasPrefix(role, "roleRef can ") || strings.Contains(role, "immutable") {
		t.Errorf("%s: the role is described as %q", described, role)
	}
}
