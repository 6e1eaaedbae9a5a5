package rbac_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/rbac"
)

// rule returns a rule for resources. Each argument is a list that is separated by spaces, in which "core" stands for the
// core group.
func rule(verbs, groups, resources string, names ...string) rbacv1.PolicyRule {
	r := rbacv1.PolicyRule{Verbs: strings.Fields(verbs), Resources: strings.Fields(resources), ResourceNames: names}
	for _, g := range strings.Fields(groups) {
		if g == "core" {
			g = ""
		}
		r.APIGroups = append(r.APIGroups, g)
	}
	return r
}

func paths(verbs, paths string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Fields(verbs), NonResourceURLs: strings.Fields(paths)}
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: name}
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: name}
}

func ref(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func bind(namespace, name string, role rbacv1.RoleRef, subjects ...rbacv1.Subject) any {
	if namespace == "" {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: named("", name), RoleRef: role, Subjects: subjects}
	}
	return &rbacv1.RoleBinding{ObjectMeta: named(namespace, name), RoleRef: role, Subjects: subjects}
}

func role(namespace, name string, rules ...rbacv1.PolicyRule) any {
	if namespace == "" {
		return &rbacv1.ClusterRole{ObjectMeta: named("", name), Rules: rules}
	}
	return &rbacv1.Role{ObjectMeta: named(namespace, name), Rules: rules}
}

// with returns an index that also has some objects.
func with(x *rbac.Index, objects ...any) *rbac.Index {
	e := x.Edit()
	for _, o := range objects {
		set(e, o)
	}
	return e.Index()
}

func set(e *rbac.Editor, o any) {
	switch o := o.(type) {
	case *rbacv1.Role:
		e.SetRole(o)
	case *rbacv1.ClusterRole:
		e.SetClusterRole(o)
	case *rbacv1.RoleBinding:
		e.SetRoleBinding(o)
	case *rbacv1.ClusterRoleBinding:
		e.SetClusterRoleBinding(o)
	}
}

// request parses "VERB GROUP RESOURCE[/SUB] [NAMESPACE/]NAME" or "VERB /PATH".
func request(text string, who *auth.User) auth.Attributes {
	f := strings.Fields(text)
	if strings.HasPrefix(f[1], "/") {
		return auth.Attributes{User: who, Verb: f[0], Path: f[1]}
	}
	a := auth.Attributes{User: who, Verb: f[0], IsResource: true, Version: "v1"}
	if a.Group = f[1]; a.Group == "core" {
		a.Group = ""
	}
	a.Resource, a.Subresource, _ = strings.Cut(f[2], "/")
	if len(f) > 3 {
		var ok bool
		if a.Namespace, a.Name, ok = strings.Cut(f[3], "/"); !ok {
			a.Namespace, a.Name = "", f[3]
		}
	}
	return a
}

var (
	jane = auth.NewUser("jane", "devs")
	bob  = auth.NewUser("bob")
	bot  = auth.NewUser("system:serviceaccount:ci:bot", "system:serviceaccounts", "system:serviceaccounts:ci")
)

func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		rule    rbacv1.PolicyRule
		allowed string // requests, separated by commas
		denied  string
	}{
		{"verbs, groups and resources", rule("get list", "core apps", "pods deployments"),
			"get core pods n/a,list apps deployments n/,get apps pods n/a", "watch core pods n/,get batch pods n/a,get core secrets n/a"},
		{"wildcards", rule("*", "*", "*"), "get core pods n/a,impersonate core users a,get x pods/log n/a", "get /metrics"},
		{"all resources of a group", rule("get", "apps", "*"), "get apps deployments/scale n/a", "get core pods n/a"},
		{"a subresource", rule("get", "core", "pods/log"), "get core pods/log n/a", "get core pods n/a,get core pods/exec n/a"},
		{"a resource without its subresources", rule("get", "core", "pods"), "get core pods n/a", "get core pods/log n/a"},
		{"a subresource of all resources", rule("update", "*", "*/scale"), "update apps deployments/scale n/a",
			"update apps deployments n/a,update apps deployments/status n/a,update apps deployments/xscale n/a"},
		{"names", rule("get delete", "core", "pods", "a", "b"), "get core pods n/a,delete core pods n/b",
			"get core pods n/c,get core pods n/"},
		{"names that are no pattern", rule("get", "core", "pods", "*"), "get core pods n/*", "get core pods n/a"},
		{"paths", paths("get", "/metrics /logs/* /x*"), "get /metrics,get /logs/,get /logs/a/b,get /xyz",
			"get /metrics/a,get /logs,post /metrics,get core metrics a"},
		{"all paths", paths("*", "*"), "get /,post /a/b", "get core pods a"},
		{"no verbs", rule("", "*", "*"), "", "get core pods n/a"},
		{"no groups", rule("*", "", "*"), "", "get core pods n/a"},
		{"resources and paths", rbacv1.PolicyRule{Verbs: []string{"get"}, Resources: []string{"pods"}}, "", "get /pods"},
	} {
		x := with(&rbac.Index{}, role("", "r", c.rule), bind("", "b", ref("ClusterRole", "r"), user("jane")))
		check := func(list string, want auth.Decision) {
			for text := range strings.SplitSeq(list, ",") {
				if text == "" {
					continue
				}
				got, reason, err := x.Authorize(t.Context(), request(text, jane))
				if got != want || err != nil || (reason != "") != (want == auth.Allow) {
					t.Errorf("%s: %s: got %v %q %v, want %v", c.name, text, got, reason, err, want)
				}
			}
		}
		check(c.allowed, auth.Allow)
		check(c.denied, auth.NoOpinion)
	}
}

func TestSubjectsAndReasons(t *testing.T) {
	t.Parallel()
	x := with(&rbac.Index{},
		role("", "all", rule("*", "*", "*"), paths("*", "*")), role("n", "pods", rule("get", "core", "pods")),
		bind("", "ops", ref("ClusterRole", "all"), group("ops")),
		bind("", "robots", ref("ClusterRole", "all"), account("ci", "deploy"), account("", "bot")),
		bind("n", "jane", ref("Role", "pods"), user("jane")),
		bind("n", "bots", ref("ClusterRole", "all"), account("", "local"), group("system:serviceaccounts:ci")),
		bind("n", "unknown", ref("Role", "pods"), rbacv1.Subject{Kind: "Robot", Name: "bob"}),
	)
	for _, c := range []struct {
		who          *auth.User
		text, reason string
	}{
		{jane, "get core pods n/a", `RBAC: allowed by RoleBinding "jane/n" of Role "pods" to User "jane"`},
		{jane, "get core pods other/a", ""},
		{jane, "get core pods a", ""},
		{jane, "delete core pods n/a", ""},
		{bob, "get core pods n/a", ""},
		{nil, "get core pods n/a", ""},
		{auth.NewUser("a", "ops"), "get /metrics", `RBAC: allowed by ClusterRoleBinding "ops" of ClusterRole "all" to Group "ops"`},
		{auth.NewUser("a", "ops"), "get core pods any/a",
			`RBAC: allowed by ClusterRoleBinding "ops" of ClusterRole "all" to Group "ops"`},
		{auth.NewUser("ops"), "get /metrics", ""},
		{auth.NewUser("system:serviceaccount:ci:deploy"), "get core nodes a",
			`RBAC: allowed by ClusterRoleBinding "robots" of ClusterRole "all" to ServiceAccount "deploy/ci"`},
		{auth.NewUser("system:serviceaccount::bot"), "get core nodes a", ""},
		{auth.NewUser("system:serviceaccount:n:local"), "get core pods n/a",
			`RBAC: allowed by RoleBinding "bots/n" of ClusterRole "all" to ServiceAccount "local/n"`},
		{auth.NewUser("system:serviceaccount:ci:local"), "get core pods n/a", ""},
		{bot, "get core pods n/a",
			`RBAC: allowed by RoleBinding "bots/n" of ClusterRole "all" to Group "system:serviceaccounts:ci"`},
		{bot, "get /metrics", ""}, // a RoleBinding grants no paths
	} {
		if _, reason, err := x.Authorize(t.Context(), request(c.text, c.who)); reason != c.reason || err != nil {
			t.Errorf("%v: %s: got %q %v, want %q", c.who, c.text, reason, err, c.reason)
		}
	}
}

// A binding whose role does not exist grants nothing, and the reason of a denial names the role.
func TestMissingRole(t *testing.T) {
	t.Parallel()
	x := with(&rbac.Index{}, bind("n", "a", ref("Role", "lost"), user("jane"), group("devs")))
	const text = `role.rbac.authorization.k8s.io "lost" not found`
	if d, reason, err := x.Authorize(t.Context(), request("get core pods n/a", jane)); d != auth.NoOpinion || err != nil ||
		reason != "RBAC: "+text {
		t.Errorf("got %v %q %v", d, reason, err)
	}
	if _, err := x.RulesFor(t.Context(), jane, "n"); err == nil || err.Error() != text {
		t.Errorf("listing the rules returned the error %v, want %s", err, text)
	}
	x = with(x, role("n", "kept", rule("get", "core", "pods")), bind("n", "b", ref("Role", "kept"), user("jane")),
		bind("n", "c", ref("ClusterRole", "gone"), user("jane")))
	if d, _, _ := x.Authorize(t.Context(), request("get core pods n/a", jane)); d != auth.Allow {
		t.Errorf("got %v, want another binding to allow the request", d)
	}
	_, reason, _ := x.Authorize(t.Context(), request("delete core pods n/a", jane))
	if want := `RBAC: [` + text + `, clusterrole.rbac.authorization.k8s.io "gone" not found]`; reason != want {
		t.Errorf("reason %q, want %q", reason, want)
	}
	for i := range 1000 {
		x = with(x, bind("n", fmt.Sprint("many-", i), ref("Role", fmt.Sprint("lost-", i)), user("bob")))
	}
	if _, reason, _ := x.Authorize(t.Context(), request("get core pods n/a", bob)); len(reason) > 2000 ||
		!strings.HasSuffix(reason, ", and others]") {
		t.Errorf("the reason for 1000 missing roles has %d bytes: %s", len(reason), reason)
	}
}

func TestRulesFor(t *testing.T) {
	t.Parallel()
	x := with(&rbac.Index{}, role("n", "r", rule("get", "core", "pods", "a")), role("", "c", paths("get", "/metrics")),
		bind("n", "b", ref("Role", "r"), user("jane"), group("devs")), bind("", "b", ref("ClusterRole", "c"), group("devs")))
	rules, err := x.RulesFor(t.Context(), jane, "n")
	want := auth.Rules{Resources: []auth.ResourceRule{{Verbs: []string{"get"}, Groups: []string{""},
		Resources: []string{"pods"}, Names: []string{"a"}}},
		Paths: []auth.PathRule{{Verbs: []string{"get"}, Paths: []string{"/metrics"}}}}
	if fmt.Sprint(rules) != fmt.Sprint(want) || err != nil {
		t.Errorf("got %v %v, want %v", rules, err, want)
	}
	if rules, _ := x.RulesFor(t.Context(), jane, "other"); len(rules.Resources) != 0 || len(rules.Paths) != 1 {
		t.Errorf("in another namespace: %v, want only the path", rules)
	}
}

// An Editor leaves the previous Index as it was.
func TestEditing(t *testing.T) {
	t.Parallel()
	first := with(&rbac.Index{}, role("n", "r", rule("get", "core", "pods")),
		bind("n", "b", ref("Role", "r"), user("jane"), user("jane"), user("bob")))
	type decisions struct{ jane, bob, eve bool }
	check := func(what string, x *rbac.Index, want decisions) {
		t.Helper()
		may := func(name string) bool {
			d, _, _ := x.Authorize(t.Context(), request("get core pods n/a", auth.NewUser(name)))
			return d == auth.Allow
		}
		if got := (decisions{may("jane"), may("bob"), may("eve")}); got != want {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
	}
	check("created", first, decisions{true, true, false})
	replaced := with(first, bind("n", "b", ref("Role", "r"), user("eve"), user("bob")))
	check("replaced", replaced, decisions{false, true, true})
	check("before the replacement", first, decisions{true, true, false})
	e := replaced.Edit()
	e.SetRoleBinding(&rbacv1.RoleBinding{ObjectMeta: named("n", "b"), RoleRef: ref("Role", "r"),
		Subjects: []rbacv1.Subject{user("jane")}})
	e.RemoveBinding("n", "b")
	e.RemoveBinding("n", "none")
	check("set and removed in one step", e.Index(), decisions{})
	e = replaced.Edit()
	e.RemoveRole("n", "r")
	check("without its role", e.Index(), decisions{})
	check("before the removals", replaced, decisions{false, true, true})
}

func TestCheckGrant(t *testing.T) {
	t.Parallel()
	held := auth.Rules{
		Resources: []auth.ResourceRule{
			{Verbs: []string{"get", "list"}, Groups: []string{""}, Resources: []string{"pods", "*/status"}},
			{Verbs: []string{"*"}, Groups: []string{"apps"}, Resources: []string{"*"}},
			{Verbs: []string{"get"}, Groups: []string{"*"}, Resources: []string{"secrets"}, Names: []string{"a", "b"}},
			{Verbs: []string{"get"}, Groups: []string{""}, Resources: []string{"nodes"}, Names: []string{"*"}},
		},
		Paths: []auth.PathRule{{Verbs: []string{"get"}, Paths: []string{"/logs/*", "/version"}}},
	}
	for _, c := range []struct {
		name    string
		granted []rbacv1.PolicyRule
		missing string // the lines of the error
	}{
		{"nothing", nil, ""},
		{"a part", []rbacv1.PolicyRule{rule("get", "core", "pods"), rule("get", "core apps", "pods/status")}, ""},
		{"names", []rbacv1.PolicyRule{rule("get", "core", "secrets", "a"), rule("get", "core", "pods", "x")}, ""},
		{"a name that is no pattern", []rbacv1.PolicyRule{rule("get", "core", "nodes", "*", "a")},
			`{APIGroups:[""], Resources:["nodes"], ResourceNames:["a"], Verbs:["get"]}`},
		{"paths", []rbacv1.PolicyRule{paths("get", "/logs/a /logs/* /version")}, ""},
		{"other verbs", []rbacv1.PolicyRule{rule("get delete watch", "core", "pods"), rule("*", "core", "pods")},
			`{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch" "*"]}`},
		{"another group", []rbacv1.PolicyRule{rule("get", "core batch", "pods")},
			`{APIGroups:["batch"], Resources:["pods"], Verbs:["get"]}`},
		{"all names", []rbacv1.PolicyRule{rule("get", "core", "secrets"), rule("get", "core", "secrets", "a", "c")},
			`{APIGroups:[""], Resources:["secrets"], ResourceNames:["c"], Verbs:["get"]}` + "\n" +
				`{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`},
		{"subresources", []rbacv1.PolicyRule{rule("get", "core", "pods/log pods/")},
			`{APIGroups:[""], Resources:["pods/"], Verbs:["get"]}` + "\n" +
				`{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}`},
		{"other paths", []rbacv1.PolicyRule{paths("get post", "/version"), paths("get", "*")},
			`{NonResourceURLs:["*"], Verbs:["get"]}` + "\n" + `{NonResourceURLs:["/version"], Verbs:["post"]}`},
		{"everything", rbac.Everything(), `{APIGroups:["*"], Resources:["*"], Verbs:["*"]}` + "\n" +
			`{NonResourceURLs:["*"], Verbs:["*"]}`},
	} {
		want := ""
		if c.missing != "" {
			want = `user "jane" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not ` +
				"currently held:\n" + c.missing
		}
		got := ""
		if err := rbac.CheckGrant(jane, held, nil, c.granted); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s\nwant %s", c.name, got, want)
		}
	}
	err := rbac.CheckGrant(jane, held, fmt.Errorf("lost"), []rbacv1.PolicyRule{rule("get", "core", "nodes")})
	if err == nil || !strings.HasSuffix(err.Error(), `{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}; resolution errors: [lost]`) {
		t.Errorf("with an error of the listing: %v", err)
	}
	all := auth.Rules{Resources: []auth.ResourceRule{{Verbs: []string{"*"}, Groups: []string{"*"}, Resources: []string{"*"}}},
		Paths: []auth.PathRule{{Verbs: []string{"*"}, Paths: []string{"*"}}}}
	if err := rbac.CheckGrant(jane, all, nil, rbac.Everything()); err != nil {
		t.Errorf("the rights of a cluster-admin do not cover themselves: %v", err)
	}
}

// A rule that stands for billions of rights is neither expanded nor described in full.
func TestHugeGrantIsBounded(t *testing.T) {
	t.Parallel()
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprint("a", i)
	}
	huge := []rbacv1.PolicyRule{{Verbs: many, APIGroups: many, Resources: many}, {Verbs: many, NonResourceURLs: many}}
	err := rbac.CheckGrant(jane, auth.Rules{}, nil, huge)
	if err == nil || len(err.Error()) > 200<<10 || !strings.HasSuffix(err.Error(), "\n...") {
		t.Errorf("without rights: an error of %d bytes", len(fmt.Sprint(err)))
	}
	covering := auth.Rules{
		Resources: []auth.ResourceRule{{Verbs: many, Groups: many, Resources: many}},
		Paths:     []auth.PathRule{{Verbs: many, Paths: many}},
	}
	if err := rbac.CheckGrant(jane, covering, nil, huge); err == nil || !strings.Contains(err.Error(), "fewer groups") {
		t.Errorf("with equal rights: %.200v", err)
	}
}

// listed returns the rights that some rules grant.
func listed(rules ...rbacv1.PolicyRule) (held auth.Rules) {
	for _, r := range rules {
		if len(r.Resources) > 0 {
			held.Resources = append(held.Resources, auth.ResourceRule{Verbs: r.Verbs, Groups: r.APIGroups,
				Resources: r.Resources, Names: r.ResourceNames})
		}
		if len(r.NonResourceURLs) > 0 {
			held.Paths = append(held.Paths, auth.PathRule{Verbs: r.Verbs, Paths: r.NonResourceURLs})
		}
	}
	return held
}

// numbered returns strings that start with a prefix and end with a number and a suffix.
func numbered(count int, prefix, suffix string) (all []string) {
	for i := range count {
		all = append(all, fmt.Sprintf("%s%05d%s", prefix, i, suffix))
	}
	return all
}

// A user may grant a large role that the user has.
func TestLargeEqualGrant(t *testing.T) {
	t.Parallel()
	const verbs = "get list watch update delete"
	names := rule(verbs, "core", "secrets", numbered(1500, "a", "")...)
	urls := paths(verbs, strings.Join(numbered(1500, "/a", ""), " "))
	if err := rbac.CheckGrant(jane, listed(names, urls), nil, []rbacv1.PolicyRule{names, urls}); err != nil {
		t.Errorf("%.200v", err)
	}
	names.ResourceNames = append(slices.Clip(names.ResourceNames), "other")
	err := rbac.CheckGrant(jane, listed(rule(verbs, "core", "secrets", names.ResourceNames[:1500]...)), nil,
		[]rbacv1.PolicyRule{names})
	if err == nil || strings.Count(err.Error(), "ResourceNames") != 1 || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("with another name: %.500v", err)
	}
}

// Long strings, and patterns of subresources, count like what their comparison costs. The error does not report a right
// as missing if the comparison of this right was not finished.
func TestComparisonsAreBounded(t *testing.T) {
	t.Parallel()
	long := rule("get", "core", strings.Join(numbered(2000, strings.Repeat("a", 4000), ""), " "))
	others := rule("get", "core", strings.Join(numbered(2000, "a", ""), " "))
	costly := make([]rbacv1.PolicyRule, 5000)
	for i := range costly {
		costly[i] = others
	}
	slashes := strings.Join(numbered(2200, "a", "/x"), " ")
	for _, c := range []struct {
		name    string
		held    auth.Rules
		granted rbacv1.PolicyRule
	}{
		{"long strings", listed(long), long},
		{"subresources", listed(rule("get", "core", strings.ReplaceAll(slashes, "a", "b")+" */x")),
			rule("get", "core", slashes)},
		{"a right that is held by the last rule", listed(append(costly, rule("get", "core", "pods"))...),
			rule("get", "core", "pods")},
		{"the same with a name", listed(append(costly, rule("get", "core", "pods"))...),
			rule("get", "core", "pods", "a")},
	} {
		err := rbac.CheckGrant(jane, c.held, nil, []rbacv1.PolicyRule{c.granted})
		if err == nil || !strings.Contains(err.Error(), "fewer groups") {
			t.Errorf("%s: got %.200v, want an error about the number of comparisons", c.name, err)
		}
	}
}

// Errors and reasons shorten long names.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 25_000)
	x := with(&rbac.Index{}, role("n", long, rule("get", "core", "pods")), bind("n", long, ref("Role", long), user(long)),
		bind("n", "lost", ref("ClusterRole", long), user(long)))
	_, allowed, _ := x.Authorize(t.Context(), request("get core pods n/a", auth.NewUser(long)))
	_, denied, _ := x.Authorize(t.Context(), request("list core pods n/a", auth.NewUser(long)))
	texts := map[string]string{
		"reason": allowed, "reason of a denial": denied,
		"missing role":             rbac.MissingRole(ref("Role", long)).Error(),
		"unknown kind":             rbac.MissingRole(ref(long, "a")).Error(),
		"resource that is missing": rbac.CheckGrant(jane, auth.Rules{}, nil, []rbacv1.PolicyRule{rule(long, long, long, long)}).Error(),
		"path that is missing":     rbac.CheckGrant(jane, auth.Rules{}, nil, []rbacv1.PolicyRule{paths(long, "/"+long)}).Error(),
	}
	for name, text := range texts {
		if len(text) > 2000 || !strings.Contains(text, `...`) || !utf8.ValidString(text) || strings.Contains(text, `\x`) {
			t.Errorf("%s: %d bytes, %.300q", name, len(text), text)
		}
	}
	verbs := rbacv1.PolicyRule{Verbs: numbered(20_000, "", ""), NonResourceURLs: []string{"/" + long}}
	if err := rbac.CheckGrant(jane, auth.Rules{}, nil, []rbacv1.PolicyRule{verbs}); len(err.Error()) > 100<<10 {
		t.Errorf("the verbs of a path: an error of %d bytes", len(err.Error()))
	}
}

// The index stores the name of a binding once, however many subjects it has.
func TestMemoryOfManySubjects(t *testing.T) {
	var subjects []rbacv1.Subject
	for _, name := range numbered(5000, "u", "") {
		subjects = append(subjects, user(name))
	}
	b := bind("n", strings.Repeat("b", 50_000), ref("Role", "r"), subjects...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	with(&rbac.Index{}, b)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 20<<20 {
		t.Errorf("%d MiB for 5000 subjects", n>>20)
	}
}

// Many bindings of the same role, and a group that a user has many times, cost little more than one.
func TestRepeatsAreSkipped(t *testing.T) {
	rules := slices.Repeat([]rbacv1.PolicyRule{rule("get", "core", "pods")}, 15_000)
	index := func(bindings int) *rbac.Index {
		e := (&rbac.Index{}).Edit()
		set(e, role("", "r", rules...))
		for i := range bindings {
			set(e, bind("n", fmt.Sprint(i), ref("ClusterRole", "r"), group("devs")))
		}
		return e.Index()
	}
	one, many := index(1), index(1000)
	once, often := auth.NewUser("jane", "devs"), auth.NewUser("jane", slices.Repeat([]string{"devs"}, 12_000)...)
	cost := func(x *rbac.Index, who *auth.User) time.Duration {
		least := time.Hour
		for range 5 {
			began := time.Now()
			if d, _, err := x.Authorize(t.Context(), request("list core pods n/a", who)); d != auth.NoOpinion || err != nil {
				t.Fatalf("got %v %v", d, err)
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	reference := cost(one, once)
	if d := cost(many, once); d > 100*reference {
		t.Errorf("1000 bindings take %v, one takes %v", d, reference)
	}
	if d := cost(many, often); d > 200*reference {
		t.Errorf("with a repeated group, 1000 bindings take %v; one binding takes %v", d, reference)
	}
	if rules, err := many.RulesFor(t.Context(), often, "n"); len(rules.Resources) != 15_000 || err != nil {
		t.Errorf("%d rules, %v; want 15000", len(rules.Resources), err)
	}
}

// Distinct roles are not taken for repeated ones, however many a user has.
func TestManyRoles(t *testing.T) {
	t.Parallel()
	e := (&rbac.Index{}).Edit()
	for i := range 100 {
		name := fmt.Sprint(i)
		set(e, role("", name, rule("c"+name, "core", "pods")))
		set(e, role("n", name, rule("r"+name, "core", "pods")))
		set(e, bind("n", "c"+name, ref("ClusterRole", name), group("devs"+name)))
		set(e, bind("n", "r"+name, ref("Role", name), group("devs"+name)))
	}
	x, who := e.Index(), auth.NewUser("jane")
	for i := range 100 {
		who.Groups = append(who.Groups, fmt.Sprint("devs", i))
	}
	for i := range 100 {
		for _, verb := range []string{"c", "r"} {
			if d, _, err := x.Authorize(t.Context(), request(fmt.Sprint(verb, i, " core pods n/a"), who)); d != auth.Allow {
				t.Errorf("%s%d: got %v %v", verb, i, d, err)
			}
		}
	}
	if rules, _ := x.RulesFor(t.Context(), who, "n"); len(rules.Resources) != 200 {
		t.Errorf("%d rules, want 200", len(rules.Resources))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, _, err := x.Authorize(ctx, request("none core pods n/a", who)); d != auth.NoOpinion || err != context.Canceled {
		t.Errorf("after the end of the request: %v %v", d, err)
	}
	if rules, err := x.RulesFor(ctx, who, "n"); len(rules.Resources) > 50 || err != context.Canceled {
		t.Errorf("after the end of the request: %d rules, %v", len(rules.Resources), err)
	}
}

// large returns an index with a number of bindings, each for a user of its own, in 100 namespaces.
func large(bindings int) *rbac.Index {
	e := (&rbac.Index{}).Edit()
	e.SetClusterRole(role("", "view", rule("get list watch", "core", "pods configmaps")).(*rbacv1.ClusterRole))
	for i := range bindings {
		name := fmt.Sprint("user-", i)
		e.SetRoleBinding(bind(fmt.Sprint("ns-", i%100), name, ref("ClusterRole", "view"), user(name)).(*rbacv1.RoleBinding))
	}
	return e.Index()
}

// Authorize allocates nothing but the reason.
func TestAuthorizeDoesNotAllocate(t *testing.T) {
	x := large(1000)
	for name, a := range map[string]auth.Attributes{
		"allowed":           request("get core pods ns-7/a", auth.NewUser("user-7", "devs", "ops")),
		"denied":            request("delete core pods/log ns-7/a", auth.NewUser("user-7")),
		"without a binding": request("get core pods ns-7/a", auth.NewUser("nobody", "a", "b", "c")),
	} {
		if n := testing.AllocsPerRun(100, func() { x.Authorize(t.Context(), a) }); n > 1 || n > 0 && name != "allowed" {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkAuthorize(b *testing.B) {
	x := large(10_000)
	for name, a := range map[string]auth.Attributes{
		"allowed":           request("get core pods ns-7/a", auth.NewUser("user-7", "devs", "ops")),
		"without a binding": request("get core pods ns-7/a", auth.NewUser("nobody", "devs", "ops")),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Authorize(b.Context(), a)
			}
		})
	}
}

// BenchmarkEdit changes one of 10,000 bindings.
func BenchmarkEdit(b *testing.B) {
	x := large(10_000)
	var roles [2]*rbacv1.RoleBinding
	for i, name := range []string{"edit", "view"} {
		roles[i] = bind("ns-7", "user-7", ref("ClusterRole", name), user("user-7")).(*rbacv1.RoleBinding)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e := x.Edit()
		e.SetRoleBinding(roles[i%2])
		x = e.Index()
	}
}

// An index that was edited many times, in one step or in many, decides like a new one of the same objects.
func TestEditsAreLikeANewIndex(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 2))
	edited, objects := &rbac.Index{}, map[string]any{}
	for range 2000 {
		e := edited.Edit()
		for range 1 + source.IntN(3)*source.IntN(20) {
			namespace, name := []string{"", "a", "b"}[source.IntN(3)], fmt.Sprint(source.IntN(30))
			kind := []string{"role", "binding"}[source.IntN(2)]
			id := kind + "/" + namespace + "/" + name
			if delete(objects, id); source.IntN(3) == 0 {
				if kind == "role" {
					e.RemoveRole(namespace, name)
				} else {
					e.RemoveBinding(namespace, name)
				}
				continue
			}
			to := ref("ClusterRole", fmt.Sprint(source.IntN(30)))
			o := bind(namespace, name, to, user(fmt.Sprint(source.IntN(5))), group(fmt.Sprint(source.IntN(5))))
			if kind == "role" {
				o = role(namespace, name, rule(fmt.Sprint("verb-", source.IntN(3)), "core", "pods"))
			}
			objects[id] = o
			set(e, o)
		}
		edited = e.Index()
		if source.IntN(20) > 0 {
			continue
		}
		fresh := with(&rbac.Index{}, slices.Collect(maps.Values(objects))...)
		for _, namespace := range []string{"", "a", "b", "c"} {
			for n := range 5 {
				who := auth.NewUser(fmt.Sprint(n), fmt.Sprint((n+1)%5))
				want, wantErr := fresh.RulesFor(t.Context(), who, namespace)
				got, gotErr := edited.RulesFor(t.Context(), who, namespace)
				if fmt.Sprint(want, wantErr) != fmt.Sprint(got, gotErr) {
					t.Fatalf("in %q, %s may\n%v %v\nafter edits, and\n%v %v\nfrom the start", namespace, who.Name, got, gotErr, want, wantErr)
				}
			}
		}
	}
}
