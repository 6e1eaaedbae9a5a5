package clusterroleaggregation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"
)

// role returns a ClusterRole with a label and, for each text, a rule with that verb.
func role(name, label string, verbs ...string) *rbacv1.ClusterRole {
	r := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"for": label}}}
	for _, verb := range verbs {
		r.Rules = append(r.Rules, rule(verb))
	}
	return r
}

func rule(verb string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"pods"}}
}

// matching returns a ClusterRole that aggregates the roles with one of the labels.
func matching(name string, selected ...string) *rbacv1.ClusterRole {
	r := role(name, "self", "own")
	r.AggregationRule = &rbacv1.AggregationRule{}
	for _, label := range selected {
		r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors,
			metav1.LabelSelector{MatchLabels: map[string]string{"for": label}})
	}
	return r
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	everything := matching("all")
	everything.AggregationRule.ClusterRoleSelectors = make([]metav1.LabelSelector, 2)
	invalid := matching("all", "-")
	long := matching("all", make([]string, maxSelectors+1)...)
	all := []*rbacv1.ClusterRole{
		role("d", "x", "get", "list"), role("a", "x", "watch", "get", "get"), role("b", "y", "create"),
		matching("all"), matching("c", "x"), role("e", "z"),
	}
	unchanged := slices.Clone(all)
	for name, test := range map[string]struct {
		role *rbacv1.ClusterRole
		want string // the verbs, or an error
	}{
		"roles in the order of their names, each rule once": {matching("all", "x"), "watch get list"},
		"selectors in their order":                          {matching("all", "y", "x"), "create watch get list"},
		"a role that two selectors match":                   {matching("all", "x", "x", "y"), "watch get list create"},
		"a role without rules":                              {matching("all", "z"), ""},
		"no match":                                          {matching("all", "none"), ""},
		"no selectors":                                      {matching("all"), ""},
		"another aggregated role, but not itself":           {matching("all", "self"), "own"},
		"every role but itself":                             {everything, "watch get create own list"},
		"invalid selector":                                  {invalid, "the ClusterRole all has an invalid selector"},
		"too many selectors": {long,
			"the ClusterRole all has 1001 selectors: at most 1000 are supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, err := aggregate(test.role, all)
			if err != nil {
				if test.want == "" || !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("got error %v, want %q", err, test.want)
				}
				return
			}
			var verbs []string
			for _, r := range rules {
				verbs = append(verbs, r.Verbs...)
			}
			if got := strings.Join(verbs, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if !slices.Equal(all, unchanged) {
				t.Error("the list of roles was modified")
			}
		})
	}
}

// Rules differ in the order and the number of their elements, but not in whether an empty list is nil.
func TestRulesAreComparedByField(t *testing.T) {
	t.Parallel()
	different := []rbacv1.PolicyRule{
		{}, {Verbs: []string{""}}, {Verbs: []string{"a", "b"}}, {Verbs: []string{"b", "a"}}, {Verbs: []string{"ab"}},
		{Verbs: []string{"a"}, APIGroups: []string{"b"}}, {Verbs: []string{"a"}, Resources: []string{"b"}},
		{Verbs: []string{"a"}, ResourceNames: []string{"b"}}, {Verbs: []string{"a"}, NonResourceURLs: []string{"b"}},
		{Verbs: []string{"a1:b"}}, {Verbs: []string{"a", "1:b"}},
	}
	set := ruleSet{present: map[string]bool{}}
	set.add(different)
	set.add(different)
	set.add([]rbacv1.PolicyRule{{Verbs: []string{"ab"}, APIGroups: []string{}, NonResourceURLs: []string{}}})
	if diff := cmp.Diff(different, set.rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	get := []rbacv1.PolicyRule{rule("get")}
	for name, test := range map[string]struct {
		now, next []rbacv1.PolicyRule
		wait      time.Duration
		want      string
	}{
		"equal rules":            {get, []rbacv1.PolicyRule{rule("get")}, 0, "[]"},
		"no rules":               {[]rbacv1.PolicyRule{}, nil, 0, "[]"},
		"first rules":            {nil, get, 0, "[apply 1 rules to clusterrole/all]"},
		"other rules":            {[]rbacv1.PolicyRule{rule("list")}, get, 0, "[apply 1 rules to clusterrole/all]"},
		"the last rules go":      {get, nil, 0, "[apply 0 rules to clusterrole/all]"},
		"overwritten rules":      {nil, get, time.Second, "[requeue after 1s]"},
		"equal rules, with wait": {get, get, time.Second, "[]"},
		"another order": {role("", "", "list", "get").Rules, role("", "", "get", "list").Rules, 0,
			"[apply 2 rules to clusterrole/all]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := matching("all")
			all.Rules = test.now
			if got := fmt.Sprint(decide(all, test.next, test.wait)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Only changes of labels and rules concern the roles that aggregate a role.
func TestContributions(t *testing.T) {
	t.Parallel()
	old := role("a", "x", "get")
	for name, test := range map[string]struct {
		change func(*rbacv1.ClusterRole)
		want   bool
	}{
		"annotation": {func(r *rbacv1.ClusterRole) { r.Annotations = map[string]string{"a": "b"} }, false},
		"label":      {func(r *rbacv1.ClusterRole) { r.Labels["for"] = "y" }, true},
		"no labels":  {func(r *rbacv1.ClusterRole) { r.Labels = nil }, true},
		"rules":      {func(r *rbacv1.ClusterRole) { r.Rules = nil }, true},
	} {
		now := old.DeepCopy()
		if test.change(now); contributes(old, now) != test.want {
			t.Errorf("%s: got %t, want %t", name, !test.want, test.want)
		}
	}
	if !contributes(nil, old) || !contributes(old, nil) {
		t.Error("a new or a deleted role: got false, want true")
	}
}

func TestTooManyRulesAreNotAggregated(t *testing.T) {
	t.Parallel()
	verbs := make([]string, maxRules+1)
	for i := range verbs {
		verbs[i] = strconv.Itoa(i)
	}
	const want = "the ClusterRole all aggregates more than 10000 rules"
	if _, err := aggregate(matching("all", "x"), []*rbacv1.ClusterRole{role("a", "x", verbs...)}); err == nil ||
		err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if _, err := aggregate(matching("all", "x"), []*rbacv1.ClusterRole{role("a", "x", verbs[1:]...)}); err != nil {
		t.Error(err)
	}
}
