package rbac

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestKinds checks what the strategies of pkg/registry/rbac state about all four kinds.
func TestKinds(t *testing.T) {
	t.Parallel()
	namespaced := map[string]bool{"Role": true, "RoleBinding": true, "ClusterRole": false, "ClusterRoleBinding": false}
	all := Kinds(object.NewCache(1))
	if len(all) != len(namespaced) {
		t.Errorf("got %d kinds, want %d", len(all), len(namespaced))
	}
	for _, k := range all {
		i := k.Info()
		if inNamespace, known := namespaced[i.Kind]; !known || i.Namespaced != inNamespace {
			t.Errorf("%s: got namespaced %t", i.Kind, i.Namespaced)
		}
		if !i.CreateOnUpdate || i.ConditionalUpdate || i.Generation || i.ReturnsDeleted || len(i.Subresources) > 0 {
			t.Errorf("%s: got %+v", i.Kind, i)
		}
		if i.Plural != i.Singular+"s" || i.Singular != strings.ToLower(i.Kind) {
			t.Errorf("%s: got names %s and %s", i.Kind, i.Singular, i.Plural)
		}
		if w := k.Warnings(k.New(), nil, ""); len(w) > 0 {
			t.Errorf("%s: got warnings %q", i.Kind, w)
		}
	}
}

// TestNames checks the names of ValidateRBACName (pkg/apis/rbac/validation).
func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"system:node": nil, "Reader of pods": nil, strings.Repeat("x", 1000): nil,
		".": {"may not be '.'"}, "..": {"may not be '..'"}, "a/b%": {"may not contain '/'", "may not contain '%'"},
	} {
		for _, k := range Kinds(object.NewCache(1)) {
			for _, prefix := range []bool{false, true} {
				if diff := cmp.Diff(want, k.Info().ValidName(name, prefix)); diff != "" {
					t.Errorf("%s %q (-want +got):\n%s", k.Info().Kind, name, diff)
				}
			}
		}
	}
}

// TestPrepareRetainsEverything checks that no field is reset or restored on a create or an update, and that neither
// sets a generation.
func TestPrepareRetainsEverything(t *testing.T) {
	t.Parallel()
	k := kinds()["clusterroles"]
	const body = `{"metadata":{"generation":7},"rules":[{"verbs":["get"]}],"aggregationRule":{}}`
	for _, old := range []kind.Object{nil, read(t, k, `{}`)} {
		got, want := read(t, k, body), read(t, k, body)
		k.Prepare(got, old, "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("update %t (-want +got):\n%s", old != nil, diff)
		}
	}
}

// TestKindsAnswerAsRecorded compares objects and cells with kinds.json[72] to kinds.json[75].
func TestKindsAnswerAsRecorded(t *testing.T) {
	t.Parallel()
	steps := golden.Steps(t, "kinds.json")
	for plural, at := range map[string]int{"clusterroles": 72, "clusterrolebindings": 74} {
		k := kinds()[plural]
		obj := read(t, k, steps[at].Body)
		encoded, err := k.Encode(object.Form{APIVersion: apiVersion}, obj)
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if err := json.Unmarshal(encoded, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(steps[at].Response.Body, &want); err != nil {
			t.Fatal(err)
		}
		delete(got, "metadata")
		delete(want, "metadata")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-recorded +got):\n%s", plural, diff)
		}

		var table metav1.Table
		if err := json.Unmarshal(steps[at+1].Response.Body, &table); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if plural == "clusterroles" { // its cell is a time
			if now, err = time.Parse(time.RFC3339, table.Rows[0].Cells[1].(string)); err != nil {
				t.Fatal(err)
			}
		}
		obj.SetCreationTimestamp(metav1.NewTime(now))
		row, err := k.Row(obj, apiVersion, now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(table.Rows[0].Cells, row); diff != "" {
			t.Errorf("%s: cells (-recorded +got):\n%s", plural, diff)
		}
	}
}

// TestManyErrorsAreBounded checks that validation of large invalid objects stops early.
func TestManyErrorsAreBounded(t *testing.T) {
	t.Parallel()
	const many = 100_000
	values := make([]string, many)
	for i := range values {
		values[i] = "-"
	}
	expression := metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpIn, Key: "a", Values: values}
	selectors := func(all ...metav1.LabelSelector) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: all}}
	}
	badValues := selectors(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression}})
	for name, c := range map[string]struct {
		plural   string
		obj, old kind.Object
	}{
		"rules":    {"roles", &rbacv1.Role{Rules: make([]rbacv1.PolicyRule, many)}, nil},
		"subjects": {"rolebindings", &rbacv1.RoleBinding{Subjects: make([]rbacv1.Subject, many)}, nil},
		"names": {"rolebindings", &rbacv1.RoleBinding{Subjects: slices.Repeat([]rbacv1.Subject{{Kind: "User",
			APIGroup: rbacv1.GroupName}}, many)}, nil},
		"expressions": {"clusterroles",
			selectors(metav1.LabelSelector{MatchExpressions: make([]metav1.LabelSelectorRequirement, many)}), nil},
		"values":        {"clusterroles", badValues, nil},
		"stored values": {"clusterroles", badValues, badValues},
		"selectors": {"clusterroles", selectors(slices.Repeat([]metav1.LabelSelector{{
			MatchLabels: map[string]string{"-": "-"}}}, many)...), nil},
	} {
		errs := kinds()[c.plural].Validate(t.Context(), c.obj, c.old, "")
		if len(errs) == 0 || len(errs) > 2*maxErrors+10 {
			t.Errorf("%s: got %d errors", name, len(errs))
		}
	}
}

// TestEmptyObjectsDoNotPanic validates objects without any field, as a damaged store may have them.
func TestEmptyObjectsDoNotPanic(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds(object.NewCache(1)) {
		if k.Validate(t.Context(), k.New(), k.New(), ""); len(k.Fields(k.New())) > 0 {
			t.Errorf("%s has selectable fields", k.Info().Kind)
		}
	}
}
