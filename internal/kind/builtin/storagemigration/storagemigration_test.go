package storagemigration

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

func read(t *testing.T, k kind.Kind, body string) *storagemigrationv1.StorageVersionMigration {
	t.Helper()
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: "storagemigration.k8s.io/v1"}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(body, err, strict)
	}
	return obj.(*storagemigrationv1.StorageVersionMigration)
}

// rule is an object, optionally with its old state, and the expected errors.
type rule struct {
	name, body, old string
	sub             string
	want            []string
}

func check(t *testing.T, rules []rule) {
	t.Helper()
	k := migrationKind(object.NewCache(1))
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

// TestMigrationRules checks the rules of ValidateStorageVersionMigration and ValidateStorageVersionMigrationUpdate
// (pkg/apis/storagemigration/validation).
func TestMigrationRules(t *testing.T) {
	t.Parallel()
	of := func(group, resource string) string {
		return `{"spec":{"resource":{"group":"` + group + `","resource":"` + resource + `"}}}`
	}
	const (
		label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, " +
			`and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`
		subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
			"and must start and end with an alphanumeric character (e.g. 'example.com', " +
			`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	)
	check(t, []rule{
		{name: "a core resource", body: of("", "pods")},
		{name: "a resource of a group", body: of("apps", "deployments")},
		{name: "no resource", body: `{}`,
			want: []string{"spec.resource.resource: Required value: resource is required to be set"}},
		{name: "names that are invalid", body: of("a_b", "1s"), want: []string{
			`spec.resource.resource: Invalid value: "1s": ` + label,
			`spec.resource.group: Invalid value: "a_b": ` + subdomain}},
		{name: "unchanged", body: of("", "pods"), old: of("", "pods")},
		{name: "another resource", body: of("apps", "deployments"), old: of("", "pods"), want: []string{
			`spec: Invalid value: {"Resource":{"group":"apps","resource":"deployments"}}: field is immutable`}},
	})
}

// TestMigrationStatusRules checks ValidateStorageVersionMigrationStatusUpdate.
func TestMigrationStatusRules(t *testing.T) {
	t.Parallel()
	status := func(revision, conditions string) string {
		return `{"status":{"resourceVersion":"` + revision + `","conditions":[` + conditions + `]}}`
	}
	condition := func(name, value string) string {
		return `{"type":"` + name + `","status":"` + value + `","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":""}`
	}
	const invalid = "status.conditions: Invalid value: "
	succeeded, failed := condition("Succeeded", "True"), condition("Failed", "True")
	revoked := condition("Succeeded", "False")
	check(t, []rule{
		{name: "a status of an invalid object", sub: "status", old: `{}`, body: status("5", succeeded)},
		{name: "no revision", sub: "status", old: `{}`, body: status("", condition("Running", "True"))},
		{name: "not a revision", sub: "status", old: `{}`, body: status("05", ""), want: []string{
			`status.resourceVersion: Invalid value: "05": resource version is not well formed: 05`}},
		{name: "another revision", sub: "status", old: status("5", ""), body: status("6", ""), want: []string{
			`status.resourceVersion: Invalid value: "6": field is immutable`}},
		{name: "invalid conditions", sub: "status", old: `{}`,
			body: status("", condition("A", "Maybe")+","+condition("A", "True")+
				`,{"type":"","status":"","lastTransitionTime":null,"reason":"","message":""}`),
			want: []string{
				`status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"`,
				`status.conditions[1]: Duplicate value: "A"`,
				`status.conditions[2].type: Required value: is required`,
				`status.conditions[2].status: Required value`,
				`status.conditions[2].lastTransitionTime: Required value`,
				`status.conditions[2].reason: Required value`}},
		{name: "two outcomes", sub: "status", old: `{}`, body: status("", succeeded+","+failed), want: []string{
			invalid + `[` + succeeded + `,` + failed + `]: Both success and failed conditions cannot be true at the same time`}},
		{name: "success is revoked", sub: "status", old: status("", succeeded), body: status("", revoked),
			want: []string{invalid + `[` + revoked + `]: Success condition cannot be set to false once it is true`}},
		{name: "failure is revoked", sub: "status", old: status("", failed), body: `{"status":{}}`, want: []string{
			invalid + `null: Failed condition cannot be set to false once it is true`}},
	})
}

func TestStatusWritesChangeOnlyTheStatus(t *testing.T) {
	t.Parallel()
	k := migrationKind(object.NewCache(1))
	body := func(label, resource, revision string) string {
		return `{"metadata":{"labels":{"a":"` + label + `"},"annotations":{"a":"` + label + `"},"finalizers":["a/` + label +
			`"]},"spec":{"resource":{"resource":"` + resource + `"}},"status":{"resourceVersion":"` + revision + `"}}`
	}
	old := read(t, k, body("old", "pods", "5"))
	k.Prepare(old, nil, "")
	if old.Status.ResourceVersion != "" || old.Generation != 0 {
		t.Errorf("a create stores the status %+v and generation %d", old.Status, old.Generation)
	}
	old.Status.ResourceVersion = "7"
	m := read(t, k, body("new", "nodes", "8"))
	k.Prepare(m, old, "status")
	if m.Labels["a"] != "old" || m.Annotations["a"] != "old" || m.Finalizers[0] != "a/old" ||
		m.Spec.Resource.Resource != "pods" || m.Status.ResourceVersion != "8" {
		t.Errorf("a write of the status stores %+v", m)
	}
	m = read(t, k, body("new", "nodes", "8"))
	k.Prepare(m, old, "")
	if m.Labels["a"] != "new" || m.Spec.Resource.Resource != "nodes" || m.Status.ResourceVersion != "7" {
		t.Errorf("an update stores %+v", m)
	}
}

func TestMigrationRow(t *testing.T) {
	t.Parallel()
	k := migrationKind(object.NewCache(1))
	if c := k.Columns("storagemigration.k8s.io/v1"); c[0].Name != "Name" || c[0].Format != "" || len(c) != 3 {
		t.Errorf("columns %+v", c)
	}
	for _, c := range []struct{ conditions, want string }{
		{``, "Unknown"},
		{`{"type":"Running","status":"False"},{"type":"Other","status":"True"}`, "Unknown"},
		{`{"type":"Running","status":"True"}`, "Running"},
		{`{"type":"Running","status":"True"},{"type":"Failed","status":"True"}`, "Failed"},
		{`{"type":"Succeeded","status":"True"},{"type":"Running","status":"False"}`, "Succeeded"},
	} {
		m := read(t, k, `{"metadata":{"name":"m"},"spec":{"resource":{"group":"apps","resource":"deployments"}},
			"status":{"conditions":[`+c.conditions+`]}}`)
		row, err := k.Row(m, "storagemigration.k8s.io/v1", time.Now())
		if diff := gocmp.Diff([]any{"m", "deployments.apps", c.want}, row); err != nil || diff != "" {
			t.Errorf("row (-want +got):\n%s (%v)", diff, err)
		}
	}
}

// TestManyConditionsAreBounded checks that very many invalid conditions are not validated to the end.
func TestManyConditionsAreBounded(t *testing.T) {
	t.Parallel()
	m := &storagemigrationv1.StorageVersionMigration{}
	m.Status.Conditions = make([]metav1.Condition, 100_000)
	start := time.Now()
	n := len(migrationKind(object.NewCache(1)).Validate(t.Context(), m, m, "status"))
	if n > 2000 || time.Since(start) > 10*time.Second {
		t.Errorf("%d errors after %v", n, time.Since(start))
	}
}
