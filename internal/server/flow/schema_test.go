package flow

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind/builtin/flowcontrol"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// suggested compiles the objects of a new server.
func suggested() (*table, *fair.Queue) {
	found := &objects{}
	for _, of := range []func() ([]*flowcontrolv1.PriorityLevelConfiguration, []*flowcontrolv1.FlowSchema){
		flowcontrol.Suggested, flowcontrol.Mandatory} {
		levels, schemas := of()
		found.levels, found.schemas = append(found.levels, levels...), append(found.schemas, schemas...)
	}
	queue := fair.New(fair.Limits{Seats: 600})
	return compile(found, queue), queue
}

func of(verb, group, resource, sub, namespace string) *request.Route {
	return &request.Route{IsResource: true, Verb: verb, Subresource: sub, Namespace: namespace,
		GVR: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}}
}

// The schemas of a new server classify requests like kube-apiserver's.
func TestSuggestedSchemas(t *testing.T) {
	t.Parallel()
	table, queue := suggested()
	node := auth.NewUser("system:node:a", "system:nodes")
	account := auth.NewUser("system:serviceaccount:default:a", "system:serviceaccounts")
	system := auth.NewUser("system:serviceaccount:kube-system:a", "system:serviceaccounts")
	user := auth.NewUser("u")
	for _, test := range []struct {
		user  *auth.User
		route *request.Route
		want  string
		flow  string
	}{
		{auth.NewUser("a", auth.AdminGroup), of("get", "", "pods", "", "default"), "exempt", "a"},
		{user, &request.Route{Verb: "get", Path: "/livez"}, "probes", "u"},
		{user, &request.Route{Verb: "get", Path: "/livez/ping"}, "probes", "u"},
		{user, &request.Route{Verb: "post", Path: "/livez"}, "global-default", "u"},
		{user, &request.Route{Verb: "get", Path: "/livezz"}, "global-default", "u"},
		{user, of("get", "", "pods", "", "default"), "global-default", "u"},
		{node, of("update", "", "nodes", "status", ""), "system-node-high", "system:node:a"},
		{node, of("update", "", "nodes", "proxy", ""), "system-nodes", "system:node:a"},
		{node, of("update", "coordination.k8s.io", "leases", "", "kube-node-lease"), "system-node-high", "system:node:a"},
		{node, of("list", "", "pods", "", ""), "system-nodes", "system:node:a"},
		{system, of("update", "coordination.k8s.io", "leases", "", "kube-system"), "system-leader-election", system.Name},
		{system, of("patch", "coordination.k8s.io", "leases", "", "b"), "kube-system-service-accounts", "b"},
		{account, of("list", "", "pods", "", ""), "service-accounts", account.Name},
		{auth.NewUser("system:kube-controller-manager"), of("list", "", "pods", "", ""), "kube-controller-manager", ""},
		{&auth.User{Name: "nobody"}, of("list", "", "pods", "", ""), "catch-all", "nobody"},
	} {
		s := table.find(test.user, test.route)
		if f := s.Flow(test.user, test.route, "p", false); s.name != test.want || f.User != test.flow || f.Class == nil {
			t.Errorf("%s, %+v: schema %s and flow %q, want %s and %q", test.user.Name, test.route, s.name, f.User,
				test.want, test.flow)
		}
	}
	// The values of a kube-apiserver with 600 seats.
	for name, want := range map[string]int{"exempt": 0, "catch-all": 13, "system": 74, "node-high": 98,
		"leader-election": 25, "workload-high": 98, "workload-low": 245, "global-default": 49} {
		if got := queue.Levels()[name]; got != want {
			t.Errorf("level %s has %d seats, want %d", name, got, want)
		}
	}
}

// A flow consists of short texts, and distinguishes the users of a schema that does not.
func TestFlows(t *testing.T) {
	t.Parallel()
	long, longer := strings.Repeat("x", 600), strings.Repeat("x", 1<<20)
	in := func(namespace string) *request.Route { return of("create", "g", "r", "", namespace) }
	for name, test := range map[string]struct {
		distinguisher fair.Distinguisher
		user          string
		route         *request.Route
		want          fair.Flow
	}{
		"by user":      {fair.ByUser, "u", in("n"), fair.Flow{User: "u", Program: "p"}},
		"by namespace": {fair.ByNamespace, "u", in("n"), fair.Flow{User: "n", Program: "u"}},
		"same":         {fair.Same, "u", in("n"), fair.Flow{Program: "u"}},
		"longest namespace": {fair.ByNamespace, "u", in(long[:63]),
			fair.Flow{User: long[:63], Program: "u"}},
		"long namespace":   {fair.ByNamespace, "u", in(long[:64]), fair.Flow{User: "(too long)", Program: "u"}},
		"longer namespace": {fair.ByNamespace, "u", in(longer), fair.Flow{User: "(too long)", Program: "u"}},
		"longest user":     {fair.ByUser, long[:512], in("n"), fair.Flow{User: long[:512], Program: "p"}},
		"long user": {fair.ByUser, long[:513], in("n"), fair.Flow{Program: "p",
			User: "sha256:" + fmt.Sprintf("%x", sha256.Sum256([]byte(long[:513])))}},
		"long user in a namespace": {fair.ByNamespace, longer, in("n"), fair.Flow{User: "n",
			Program: "sha256:" + fmt.Sprintf("%x", sha256.Sum256([]byte(longer)))}},
	} {
		s := &Schema{distinguisher: test.distinguisher}
		if got := s.Flow(auth.NewUser(test.user), test.route, "p", false); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// Rules match like Kubernetes' (pkg/util/flowcontrol/rule.go).
func TestRules(t *testing.T) {
	t.Parallel()
	subject := func(kind flowcontrolv1.SubjectKind, namespace, name string) flowcontrolv1.Subject {
		switch kind {
		case flowcontrolv1.SubjectKindUser:
			return flowcontrolv1.Subject{Kind: kind, User: &flowcontrolv1.UserSubject{Name: name}}
		case flowcontrolv1.SubjectKindGroup:
			return flowcontrolv1.Subject{Kind: kind, Group: &flowcontrolv1.GroupSubject{Name: name}}
		}
		return flowcontrolv1.Subject{Kind: kind, ServiceAccount: &flowcontrolv1.ServiceAccountSubject{
			Namespace: namespace, Name: name}}
	}
	all := []string{"*"}
	resources := func(change func(*flowcontrolv1.ResourcePolicyRule)) *flowcontrolv1.PolicyRulesWithSubjects {
		r := flowcontrolv1.ResourcePolicyRule{Verbs: all, APIGroups: all, Resources: all, Namespaces: all}
		change(&r)
		return &flowcontrolv1.PolicyRulesWithSubjects{Subjects: []flowcontrolv1.Subject{subject("User", "", "*")},
			ResourceRules: []flowcontrolv1.ResourcePolicyRule{r}}
	}
	paths := func(urls ...string) *flowcontrolv1.PolicyRulesWithSubjects {
		return &flowcontrolv1.PolicyRulesWithSubjects{Subjects: []flowcontrolv1.Subject{subject("Group", "", "*")},
			NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"get"}, NonResourceURLs: urls}}}
	}
	type resourceRule = flowcontrolv1.ResourcePolicyRule
	subjects := func(s ...flowcontrolv1.Subject) *flowcontrolv1.PolicyRulesWithSubjects {
		r := resources(func(*resourceRule) {})
		r.Subjects = s
		return r
	}
	account := auth.NewUser("system:serviceaccount:ns:name", "g")
	pod, path := of("get", "", "pods", "", "ns"), &request.Route{Verb: "get", Path: "/a/b"}
	for name, test := range map[string]struct {
		rule  *flowcontrolv1.PolicyRulesWithSubjects
		route *request.Route
		want  bool
	}{
		"user":                   {subjects(subject("User", "", account.Name)), pod, true},
		"another user":           {subjects(subject("User", "", "name")), pod, false},
		"group":                  {subjects(subject("Group", "", "g")), pod, true},
		"another group":          {subjects(subject("Group", "", "h")), pod, false},
		"second subject":         {subjects(subject("Group", "", "h"), subject("Group", "", "g")), pod, true},
		"account":                {subjects(subject("ServiceAccount", "ns", "name")), pod, true},
		"account of a namespace": {subjects(subject("ServiceAccount", "ns", "*")), pod, true},
		"account of another":     {subjects(subject("ServiceAccount", "n", "*")), pod, false},
		"resource": {resources(func(r *resourceRule) { r.Resources = []string{"pods"} }),
			pod, true},
		"not its subresource": {resources(func(r *resourceRule) { r.Resources = []string{"pods"} }),
			of("get", "", "pods", "log", "ns"), false},
		"subresource": {resources(func(r *resourceRule) { r.Resources = []string{"pods/log"} }),
			of("get", "", "pods", "log", "ns"), true},
		"verb": {resources(func(r *resourceRule) { r.Verbs = []string{"list"} }),
			pod, false},
		"API group": {resources(func(r *resourceRule) { r.APIGroups = []string{"apps"} }),
			pod, false},
		"namespace": {resources(func(r *resourceRule) { r.Namespaces = []string{"other"} }),
			pod, false},
		"not in cluster scope": {resources(func(*resourceRule) {}),
			of("get", "", "nodes", "", ""), false},
		"cluster scope": {resources(func(r *resourceRule) { r.ClusterScope = true }),
			of("get", "", "nodes", "", ""), true},
		"a path is no resource":        {resources(func(*resourceRule) {}), path, false},
		"a resource is no path":        {paths("*"), pod, false},
		"all paths":                    {paths("*"), path, true},
		"path":                         {paths("/a/b"), path, true},
		"path above":                   {paths("/a"), path, true},
		"pattern":                      {paths("/a/*"), path, true},
		"pattern does not match above": {paths("/a/b/*"), path, false},
		"path that only begins so":     {paths("/a/"), &request.Route{Verb: "get", Path: "/ab"}, false},
	} {
		r := newRule(test.rule)
		if got := r.matches(account, test.route); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	t, queue := suggested()
	c := New(Options{Queue: queue})
	c.current.Store(t)
	route := of("update", "apps", "deployments", "status", "default")
	for name, user := range map[string]*auth.User{"administrator": auth.NewUser("a", auth.AdminGroup),
		"user, the tenth schema": auth.NewUser("u", "g", "h"),
		"node":                   auth.NewUser("system:node:a", "system:nodes")} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := c.Classify(user, route)
				s.Flow(user, route, "p", false)
			}
		})
	}
}
