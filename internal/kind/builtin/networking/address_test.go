package networking

import (
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// noDomain is the error of the finalizer "mine".
const noDomain = `metadata.finalizers[0]: Invalid value: "mine": ` +
	"name is neither a standard finalizer name nor is it fully qualified"

// TestIPAddressRules checks the rules of ValidateIPAddress and ValidateIPAddressUpdate, and the order of the errors
// of declarative validation, which follow the others on create and replace only some on update.
func TestIPAddressRules(t *testing.T) {
	t.Parallel()
	parent := func(fields string) string { return `{"spec":{"parentRef":{` + fields + `}}}` }
	const (
		plain     = `"resource":"services","name":"web","namespace":"default"`
		at        = "spec.parentRef"
		immutable = at + ": Invalid value: null: field is immutable"
	)
	check(t, ipAddressKind(object.NewCache(1)), []rule{
		{name: "a service", body: parent(plain)},
		{name: "a gateway of the cluster", body: parent(`"group":"example.com","resource":"gateways","name":"g"`)},
		{name: "no parent", body: `{}`, want: []string{at + ": Required value"}},
		{name: "an empty parent", body: parent(""),
			want: []string{at + ".resource: Required value", at + ".name: Required value"}},
		{name: "invalid values precede missing ones", body: parent(`"group":"A","name":"a/b","namespace":".."`),
			want: []string{at + `.group: Invalid value: "A": ` + subdomain,
				at + `.name: Invalid value: "a/b": may not contain '/'`,
				at + `.namespace: Invalid value: "..": may not be '..'`, at + ".resource: Required value"}},
		{name: "nothing changes", body: parent(plain), old: parent(plain)},
		{name: "another parent", body: parent(`"resource":"services","name":"b"`), old: parent(plain),
			want: []string{immutable}},
		{name: "another parent, invalid", body: parent(`"namespace":".."`), old: parent(plain),
			want: []string{at + ".resource: Required value", at + ".name: Required value",
				at + `.namespace: Invalid value: "..": may not be '..'`, immutable}},
		{name: "the parent is removed", body: `{}`, old: parent(plain),
			want: []string{at + ": Required value", immutable}},
		{name: "a finalizer without a domain", body: `{"metadata":{"finalizers":["mine"]},` + parent(plain)[1:],
			want: []string{noDomain}},
		// Kubernetes applies the rules of a create to an update, too.
		{name: "a finalizer without a domain is added", body: `{"metadata":{"finalizers":["mine"]},` + parent(plain)[1:],
			old: parent(plain), want: []string{noDomain, noDomain}},
	})
}

func TestIPAddressNames(t *testing.T) {
	t.Parallel()
	valid := ipAddressKind(object.NewCache(1)).Info().ValidName
	for name, want := range map[string][]string{
		"10.0.0.1":    nil,
		"2001:db8::1": nil,
		"web":         {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"},
		"":            {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"},
		"010.0.0.1":   {"must not have leading 0s"},
		"2001:DB8::1": {`must be in canonical form ("2001:db8::1")`},
	} {
		for _, prefix := range []bool{false, true} {
			if got := valid(name, prefix); !slices.Equal(got, want) {
				t.Errorf("%q: %q, want %q", name, got, want)
			}
		}
	}
}

// TestIPAddressRows checks the parent, and the age, for which Kubernetes has no column.
func TestIPAddressRows(t *testing.T) {
	t.Parallel()
	k := ipAddressKind(object.NewCache(1))
	for parent, want := range map[string]string{
		`{}`: "<none>",
		`{"parentRef":{"resource":"services","namespace":"default","name":"web"}}`: "services/default/web",
		`{"parentRef":{"group":"Example.com","resource":"Gateways","name":"G"}}`:   "gateways.example.com/G",
	} {
		a := read(t, k, `{"metadata":{"name":"10.0.0.1"},"spec":`+parent+`}`)
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		a.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Hour)))
		got, err := k.Row(a, "networking.k8s.io/v1", now)
		if err != nil || !slices.Equal(got, []any{"10.0.0.1", want, "60m"}) {
			t.Errorf("row %v, %v", got, err)
		}
	}
}

// TestServiceCIDRRules checks the rules of ValidateServiceCIDR and ValidateServiceCIDRUpdate.
func TestServiceCIDRRules(t *testing.T) {
	t.Parallel()
	const (
		at     = "spec.cidrs"
		v4, v6 = `"10.0.0.0/16"`, `"2001:db8::/64"`
		family = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
		noCIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
	)
	ranges := func(cidrs string) string { return `{"spec":{"cidrs":[` + cidrs + `]}}` }
	check(t, serviceCIDRKind(object.NewCache(1)), []rule{
		{name: "IPv4", body: ranges(v4)},
		{name: "both families", body: ranges(v6 + "," + v4)},
		{name: "none", body: `{}`, want: []string{at + ": Required value: at least one CIDR required"}},
		{name: "three", body: ranges(v4 + "," + v6 + "," + v4), want: []string{
			at + `: Invalid value: {"CIDRs":[` + v4 + "," + v6 + "," + v4 + `]}: may only hold up to 2 values`}},
		{name: "one family twice", body: ranges(v4 + `,"10.1.0.0/16"`), want: []string{
			at + `: Invalid value: [` + v4 + `,"10.1.0.0/16"]: ` + family}},
		{name: "invalid values", body: ranges(`"10.0.0.0",""`), want: []string{
			at + `[0]: Invalid value: "10.0.0.0": ` + noCIDR, at + `[1]: Invalid value: "": ` + noCIDR}},
		{name: "not canonical", body: ranges(`"2001:DB8::/64"`), want: []string{
			at + `[0]: Invalid value: "2001:DB8::/64": must be in canonical form ("2001:db8::/64")`}},
		{name: "nothing changes", body: ranges(v4), old: ranges(v4)},
		{name: "a second family is added", body: ranges(v4 + "," + v6), old: ranges(v4)},
		{name: "the same family is added", body: ranges(v4 + `,"10.1.0.0/16"`), old: ranges(v4), want: []string{
			at + `: Invalid value: [` + v4 + `,"10.1.0.0/16"]: ` + family}},
		{name: "a second family is added before the first", body: ranges(v6 + "," + v4), old: ranges(v4),
			want: []string{at + `[0]: Invalid value: "2001:db8::/64": field is immutable`}},
		{name: "another range", body: ranges(`"x"`), old: ranges(v4),
			want: []string{at + `[0]: Invalid value: "x": field is immutable`}},
		{name: "a family is removed", body: ranges(v4), old: ranges(v4 + "," + v6),
			want: []string{at + `: Invalid value: [` + v4 + `]: field is immutable`}},
		{name: "all are removed", body: `{}`, old: ranges(v4),
			want: []string{at + ": Invalid value: null: field is immutable"}},
		{name: "a status", sub: "status", body: ranges(v4), old: ranges(v4)},
		{name: "a finalizer without a domain", body: `{"metadata":{"finalizers":["mine"]},` + ranges(v4)[1:],
			want: []string{noDomain}},
		{name: "a finalizer without a domain is added", body: `{"metadata":{"finalizers":["mine"]},` + ranges(v4)[1:],
			old: ranges(v4), want: []string{noDomain}},
	})
}

// TestServiceCIDRStatus checks that only a write of the status changes it, and that such a write changes nothing else.
func TestServiceCIDRStatus(t *testing.T) {
	t.Parallel()
	k := serviceCIDRKind(object.NewCache(1))
	with := func(value string) *networkingv1.ServiceCIDR {
		obj := read(t, k, `{"metadata":{"name":"c","labels":{"a":"`+value+`"},"annotations":{"a":"`+value+`"},
			"finalizers":["example.com/`+value+`"]},"spec":{"cidrs":["`+value+`"]},
			"status":{"conditions":[{"type":"Ready","status":"True","reason":"`+value+`"}]}}`)
		return obj.(*networkingv1.ServiceCIDR)
	}
	obj := with("new")
	k.Prepare(obj, nil, "")
	want := with("new")
	want.Status = networkingv1.ServiceCIDRStatus{}
	if diff := gocmp.Diff(want, obj); diff != "" {
		t.Errorf("create (-want +got):\n%s", diff)
	}

	obj, want = with("new"), with("new")
	want.Status = with("old").Status
	k.Prepare(obj, with("old"), "")
	if diff := gocmp.Diff(want, obj); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}

	obj, want = with("new"), with("old")
	want.Status = with("new").Status
	old := with("old")
	k.Prepare(obj, old, "status")
	if diff := gocmp.Diff(want, obj); diff != "" {
		t.Errorf("write of the status (-want +got):\n%s", diff)
	}
	obj.Labels["a"], obj.Annotations["a"], obj.Finalizers[0] = "changed", "changed", "changed"
	if diff := gocmp.Diff(with("old"), old); diff != "" {
		t.Errorf("the prepared object shares memory with the old one:\n%s", diff)
	}
}

func TestServiceCIDRRows(t *testing.T) {
	t.Parallel()
	k := serviceCIDRKind(object.NewCache(1))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := read(t, k, `{"metadata":{"name":"c"},"spec":{"cidrs":["10.0.0.0/16","2001:db8::/64"]}}`)
	c.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Hour)))
	got, err := k.Row(c, "networking.k8s.io/v1", now)
	if err != nil || !slices.Equal(got, []any{"c", "10.0.0.0/16,2001:db8::/64", "60m"}) {
		t.Errorf("row %v, %v", got, err)
	}
}
