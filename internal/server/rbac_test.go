package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	rbacGroup               = "/apis/rbac.authorization.k8s.io/v1"
	rolesPath               = rbacGroup + "/namespaces/default/roles"
	roleBindingsPath        = rbacGroup + "/namespaces/default/rolebindings"
	clusterRolesPath        = rbacGroup + "/clusterroles"
	clusterRoleBindingsPath = rbacGroup + "/clusterrolebindings"
)

// roleBody returns a role or cluster role with rules in JSON.
func roleBody(kind, name, rules string) string {
	return fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":%q,"metadata":{"name":%q},"rules":[%s]}`, kind, name,
		rules)
}

// bindingBody returns a binding of a role, whose kind precedes its name and a slash, to a user.
func bindingBody(kind, name, role, user string) string {
	roleKind, roleName, _ := strings.Cut(role, "/")
	return fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":%q,"metadata":{"name":%q},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":%q,"name":%q},
		"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":%q}]}`, kind, name, roleKind, roleName, user)
}

// allow grants a user rules in all namespaces.
func allow(t testing.TB, w *testPlane, user, rules string) {
	t.Helper()
	w.create(t, clusterRolesPath, roleBody("ClusterRole", user+"-role", rules))
	w.create(t, clusterRoleBindingsPath, bindingBody("ClusterRoleBinding", user, "ClusterRole/"+user+"-role", user))
}

// sendAs sends a request with a user's impersonation headers. The user may be followed by its groups.
func (w *testPlane) sendAs(t testing.TB, user []string, method, path, body string, headers ...string) response {
	t.Helper()
	headers = append([]string{"Impersonate-User", user[0]}, headers...)
	for _, group := range user[1:] {
		headers = append(headers, "Impersonate-Group", group)
	}
	return w.send(t, method, path, body, headers...)
}

func TestRolesGrantWhatTheyList(t *testing.T) {
	t.Parallel()
	admin := startTLS(t)
	admin.namespace(t, "other")
	admin.createConfigMaps(t, "default", "a", "b")
	admin.createConfigMaps(t, "other", "a")
	jane := admin.as(t, must(admin.IssueClient("jane", "devs"))(t))
	admin.create(t, rolesPath, roleBody("Role", "reader",
		`{"apiGroups":[""],"resources":["configmaps"],"verbs":["list","watch"]},
		{"apiGroups":[""],"resources":["configmaps"],"resourceNames":["a"],"verbs":["get","update"]},
		{"apiGroups":["apps"],"resources":["*/scale"],"verbs":["get"]}`))
	admin.create(t, roleBindingsPath, bindingBody("RoleBinding", "jane", "Role/reader", "jane"))
	admin.create(t, clusterRolesPath, roleBody("ClusterRole", "probe",
		`{"nonResourceURLs":["/metrics","/debug/*"],"verbs":["get"]},{"apiGroups":[""],"resources":["nodes"],"verbs":["list"]}`))
	admin.create(t, clusterRoleBindingsPath, strings.Replace(bindingBody("ClusterRoleBinding", "probe", "ClusterRole/probe", "devs"),
		`"User"`, `"Group"`, 1))
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{http.MethodGet, configMaps, http.StatusOK},
		{http.MethodGet, configMaps + "/a", http.StatusOK},
		{http.MethodGet, configMaps + "/b", http.StatusForbidden},
		{http.MethodGet, configMaps + "?fieldSelector=metadata.name%3Db", http.StatusOK},
		{http.MethodPut, configMaps + "/a", http.StatusBadRequest}, // authorized, with an invalid body
		{http.MethodPut, configMaps + "/b", http.StatusForbidden},
		{http.MethodPost, configMaps, http.StatusForbidden},
		{http.MethodDelete, configMaps + "/a", http.StatusForbidden},
		{http.MethodGet, "/api/v1/configmaps", http.StatusForbidden},
		{http.MethodGet, "/api/v1/namespaces/other/configmaps", http.StatusForbidden},
		{http.MethodGet, deployments + "/none/scale", http.StatusNotFound},
		{http.MethodGet, deployments + "/none", http.StatusForbidden},
		{http.MethodGet, "/api/v1/nodes", http.StatusOK},
		{http.MethodGet, "/api/v1/nodes/a", http.StatusForbidden},
		{http.MethodGet, "/metrics", http.StatusOK},
		{http.MethodGet, "/debug/pprof/cmdline", http.StatusOK},
		{http.MethodPost, "/metrics", http.StatusForbidden},
		{http.MethodGet, "/bowline/why", http.StatusForbidden},
	} {
		if r := jane.send(t, c.method, c.path, `{`); r.code != c.code {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, r.code, r.body, c.code)
		}
	}
}

// A binding has an effect on the request after the answer to its create, and none on the one after its delete.
func TestBindingsTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, rolesPath, roleBody("Role", "reader", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}`))
	var users sync.WaitGroup
	for n := range 4 {
		users.Go(func() {
			name := fmt.Sprint("user-", n)
			list := func(want int) {
				r, err := w.try(t.Context(), http.MethodGet, configMaps, http.NoBody, "Impersonate-User", name)
				if err != nil || r.code != want {
					t.Errorf("%s: %d %s %v, want %d", name, r.code, r.body, err, want)
				}
			}
			for range 25 {
				list(http.StatusForbidden)
				if r, err := w.try(t.Context(), http.MethodPost, roleBindingsPath,
					strings.NewReader(bindingBody("RoleBinding", name, "Role/reader", name))); err != nil || r.code != http.StatusCreated {
					t.Errorf("%d %s %v", r.code, r.body, err)
				}
				list(http.StatusOK)
				if r, err := w.try(t.Context(), http.MethodDelete, roleBindingsPath+"/"+name, http.NoBody); err != nil ||
					r.code != http.StatusOK {
					t.Errorf("%d %s %v", r.code, r.body, err)
				}
			}
			list(http.StatusForbidden)
		})
	}
	users.Wait()
	w.create(t, roleBindingsPath, bindingBody("RoleBinding", "jane", "Role/reader", "jane"))
	jane := []string{"jane"}
	w.sendAs(t, jane, http.MethodGet, configMaps, "").want(t, http.StatusOK)
	w.send(t, http.MethodPatch, rolesPath+"/reader", `{"rules":null}`, "Content-Type", mergeType).want(t, http.StatusOK)
	w.sendAs(t, jane, http.MethodGet, configMaps, "").want(t, http.StatusForbidden)
	w.send(t, http.MethodDelete, rolesPath+"/reader", "").want(t, http.StatusOK)
	w.sendAs(t, jane, http.MethodGet, configMaps, "").wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
		`in the namespace "default": RBAC: role.rbac.authorization.k8s.io "reader" not found`)
}

func TestServiceAccountsHaveRoles(t *testing.T) {
	t.Parallel()
	admin := startTLS(t)
	admin.create(t, "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"bot"}}`)
	var issued struct{ Status struct{ Token string } }
	admin.send(t, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts/bot/token",
		`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`).want(t, http.StatusCreated).into(t, &issued)
	config := rest.CopyConfig(admin.config)
	config.CertData, config.KeyData, config.BearerToken = nil, nil, issued.Status.Token
	bot := admin.as(t, config)
	bot.get(t, configMaps).want(t, http.StatusForbidden)
	admin.create(t, rolesPath, roleBody("Role", "reader", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}`))
	admin.create(t, roleBindingsPath, strings.Replace(bindingBody("RoleBinding", "bot", "Role/reader", "bot"),
		`"User","apiGroup":"rbac.authorization.k8s.io"`, `"ServiceAccount","namespace":"default"`, 1))
	bot.get(t, configMaps).want(t, http.StatusOK)
	bot.get(t, podsPath).want(t, http.StatusForbidden)
}

// TestRulesReview checks with unmodified client-go that a user sees its rights, and which of them a review can name.
func TestRulesReview(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, rolesPath, roleBody("Role", "reader", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}`))
	w.create(t, roleBindingsPath, bindingBody("RoleBinding", "jane", "Role/reader", "jane"))
	w.create(t, roleBindingsPath, bindingBody("RoleBinding", "lost", "Role/lost", "jane"))
	var review authorizationv1.SelfSubjectRulesReview
	w.sendAs(t, []string{"jane"}, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
		`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"default"}}`).
		want(t, http.StatusCreated).into(t, &review)
	listed := slices.ContainsFunc(review.Status.ResourceRules, func(r authorizationv1.ResourceRule) bool {
		return slices.Equal(r.Verbs, []string{"list"}) && slices.Equal(r.Resources, []string{"configmaps"})
	})
	if !listed || review.Status.Incomplete ||
		review.Status.EvaluationError != `role.rbac.authorization.k8s.io "lost" not found` {
		t.Errorf("the rights are %+v", review.Status)
	}
	for verb, want := range map[string]string{
		"list":   `RBAC: allowed by RoleBinding "jane/default" of Role "reader" to User "jane"`,
		"delete": `RBAC: role.rbac.authorization.k8s.io "lost" not found`,
	} {
		review := must(w.clients.AuthorizationV1().SubjectAccessReviews().Create(t.Context(),
			&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "jane",
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: "configmaps", Namespace: "default"}}},
			metav1.CreateOptions{}))(t)
		if s := review.Status; s.Allowed != (verb == "list") || s.Denied || s.Reason != want || s.EvaluationError != "" {
			t.Errorf("%s: %+v, want the reason %s", verb, s, want)
		}
	}
}

// A plane and its fork decide by their own bindings.
func TestForkHasItsOwnRoles(t *testing.T) {
	t.Parallel()
	w := start(t)
	allow(t, w, "jane", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}`)
	jane := []string{"jane"}
	w.sendAs(t, jane, http.MethodGet, configMaps, "").want(t, http.StatusOK)
	fork := must(w.Fork(t.Context()))(t)
	t.Cleanup(func() { fork.Close() })
	other := &testPlane{Plane: fork}
	other.connect(t, fork.RESTConfig())
	other.sendAs(t, jane, http.MethodGet, configMaps, "").want(t, http.StatusOK)
	other.send(t, http.MethodDelete, clusterRoleBindingsPath+"/jane", "").want(t, http.StatusOK)
	other.sendAs(t, jane, http.MethodGet, configMaps, "").want(t, http.StatusForbidden)
	w.sendAs(t, jane, http.MethodGet, configMaps, "").want(t, http.StatusOK)
}

// BenchmarkUserWithManyBindings lists as a user of a plane with 10,000 bindings, while another object is written before
// each request.
func BenchmarkUserWithManyBindings(b *testing.B) {
	w := start(b)
	w.create(b, rolesPath, roleBody("Role", "reader", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}`))
	for i := range 10_000 {
		name := fmt.Sprint("user-", i)
		w.create(b, roleBindingsPath, bindingBody("RoleBinding", name, "Role/reader", name))
	}
	user := []string{"user-7"}
	w.sendAs(b, user, http.MethodGet, configMaps, "").want(b, http.StatusOK)
	b.ReportAllocs()
	for b.Loop() {
		w.send(b, http.MethodPatch, "/api/v1/namespaces/default", `{"metadata":{"annotations":{"a":"b"}}}`,
			"Content-Type", mergeType).want(b, http.StatusOK)
		w.sendAs(b, user, http.MethodGet, configMaps, "").want(b, http.StatusOK)
	}
}
