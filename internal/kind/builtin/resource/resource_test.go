package resource

import (
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
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

// check decodes, prepares and validates each object, a JSON body without kind and apiVersion, and compares the errors.
func check(t *testing.T, k kind.Kind, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			var old kind.Object
			if r.old != "" {
				old = read(t, k, r.old)
			}
			obj := read(t, k, r.body)
			k.Prepare(obj, old, r.sub)
			var got []string
			for _, e := range k.Validate(t.Context(), obj, old, r.sub) {
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
	obj, strict, err := k.DecodeRequest(object.Form{APIVersion: "resource.k8s.io/v1"}, []byte(body), false)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	return obj
}

// list joins the elements of a JSON array.
func list(elements ...string) string { return "[" + strings.Join(elements, ",") + "]" }

// times returns n copies of a JSON value, with % replaced by letters that differ.
func times(n int, value string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(value, "%", string(rune('a'+i/26))+string(rune('a'+i%26)))
	}
	return all
}

const (
	labelMessage = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start " +
		"and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
	subdomainMessage = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
		"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
		`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	qualifiedMessage = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with " +
		"an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
		"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	labelValueMessage = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
		"and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used " +
		"for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	identifierMessage = "a valid C identifier must start with alphabetic character or '_', followed by a string of " +
		"alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is " +
		"'[A-Za-z_][A-Za-z0-9_]*')"
)

func TestKindsAndRows(t *testing.T) {
	t.Parallel()
	const created = `"metadata":{"name":"a","creationTimestamp":"2026-01-01T00:00:00Z"}`
	now := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)
	const slice = created + `,"spec":{"nodeName":"n","driver":"d","pool":{"name":"p"}}`
	bodies := map[string]struct {
		body    string
		columns []string
		row     []any
	}{
		"deviceclasses":          {created, []string{"Name", "Age"}, []any{"a", "60s"}},
		"resourceclaimtemplates": {created, []string{"Name", "Age"}, []any{"a", "60s"}},
		"resourceclaims":         {created, []string{"Name", "State", "Age"}, []any{"a", "pending", "60s"}},
		"resourceslices": {slice, []string{"Name", "Node", "Driver", "Pool", "Age"},
			[]any{"a", "n", "d", "p", "60s"}},
		"devicetaintrules": {created + `,"spec":{"taint":{"key":"k","value":"v","effect":"None",` +
			`"timeAdded":"2026-01-01T00:00:30Z"}}`,
			[]string{"Name", "Key", "Value", "Effect", "TimeAdded", "Age"},
			[]any{"a", "k", "v", "None", "30s", "60s"}},
	}
	var names []string
	for _, k := range Kinds(object.NewCache(1)) {
		plural := k.Info().Plural
		names = append(names, plural)
		want := bodies[plural]
		var columns []string
		for _, c := range k.Columns("resource.k8s.io/v1") {
			columns = append(columns, c.Name)
			if c.Description == "" || c.Type != "string" || c.Priority != 0 {
				t.Errorf("%s: column %+v", plural, c)
			}
		}
		row, err := k.Row(read(t, k, "{"+want.body+"}"), "resource.k8s.io/v1", now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want.columns, columns) + gocmp.Diff(want.row, row); diff != "" {
			t.Errorf("%s (-want +got):\n%s", plural, diff)
		}
	}
	if !slices.IsSorted(names) || len(names) != len(bodies) {
		t.Errorf("kinds %v", names)
	}
}

func TestEmptyObjectsDoNotPanic(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds(object.NewCache(1)) {
		empty, filled := k.New(), k.New()
		for _, sub := range []string{"", "status"} {
			k.Prepare(empty, filled, sub)
			k.Validate(t.Context(), empty, filled, sub)
		}
		k.Validate(t.Context(), k.New(), nil, "")
		k.Warnings(empty, nil, "")
		k.Fields(empty)
		if _, err := k.Row(empty, "resource.k8s.io/v1", time.Now()); err != nil {
			t.Error(err)
		}
	}
}

func TestStatusWritesChangeNoMetadata(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds(object.NewCache(1)) {
		if k.Info().Subresource("status") == nil {
			continue
		}
		old := read(t, k, `{"metadata":{"name":"a","labels":{"a":"b"},"annotations":{"c":"d"},"finalizers":["e/f"]}}`)
		obj := read(t, k, `{"metadata":{"name":"a","labels":{"x":"y"},"resourceVersion":"2"}}`)
		k.Prepare(obj, old, "status")
		want := old.DeepCopyObject().(metav1.Object)
		for _, part := range [][2]any{{want.GetLabels(), obj.GetLabels()},
			{want.GetAnnotations(), obj.GetAnnotations()}, {want.GetFinalizers(), obj.GetFinalizers()}} {
			if diff := gocmp.Diff(part[0], part[1]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", k.Info().Kind, diff)
			}
		}
	}
}

// TestHostileObjectsHaveFewErrors checks that the errors of a large object are bounded.
func TestHostileObjectsHaveFewErrors(t *testing.T) {
	t.Parallel()
	const many = 10_000
	repeat := func(value string) string { return "[" + strings.Repeat(value+",", many) + value + "]" }
	requests := `{"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"c","tolerations":` +
		repeat(`{"operator":"X"}`) + `}}]}}}`
	allocated := `{"status":{"allocation":{"devices":{"results":[]}},"devices":` + repeat(`{"driver":"d","conditions":[]}`) +
		`,"reservedFor":` + repeat(`{}`) + `}}`
	selected := `{"spec":{"driver":"d","pool":{"name":"` + strings.Repeat("/", many) + `"},"nodeSelector":{` +
		`"nodeSelectorTerms":` + repeat(`{"matchFields":[{}]}`) + `},"devices":` + repeat(`{}`) + `}}`
	conditions := `{"status":{"conditions":` + repeat(`{}`) + `}}`
	cache := object.NewCache(1)
	for _, c := range []struct {
		k              kind.Kind
		body, old, sub string
	}{
		{resourceClaimKind(cache), requests, "", ""},
		{resourceClaimKind(cache), allocated, "{}", "status"},
		{resourceSliceKind(cache), selected, "", ""},
		{deviceTaintRuleKind(cache), conditions, "{}", "status"},
	} {
		var old kind.Object
		if c.old != "" {
			old = read(t, c.k, c.old)
		}
		obj := read(t, c.k, c.body)
		if n := len(c.k.Validate(t.Context(), obj, old, c.sub)); n == 0 || n > 10*enough {
			t.Errorf("%s: %d errors", c.k.Info().Kind, n)
		}
	}
}
