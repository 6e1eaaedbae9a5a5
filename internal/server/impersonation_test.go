package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const selfReviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

// whoAmI returns the user as which a request with some headers, names and values in turn, runs.
func whoAmI(t testing.TB, w *testPlane, headers ...string) string {
	t.Helper()
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h[headers[i]] = append(h[headers[i]], headers[i+1])
	}
	var review authenticationv1.SelfSubjectReview
	sendHeader(t, w, http.MethodPost, selfReviews,
		`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`, h).want(t, http.StatusCreated).into(t, &review)
	u := review.Status.UserInfo
	return strings.TrimSpace(fmt.Sprint(u.Username, " ", u.UID, " ", u.Groups, " ", u.Extra))
}

// sendHeader is send with headers that may have several values.
func sendHeader(t testing.TB, w *testPlane, method, path, body string, header http.Header) response {
	t.Helper()
	transport := w.wire.Transport
	client := &testPlane{Plane: w.Plane, host: w.host, wire: &http.Client{Transport: withHeaders{transport, header}}}
	return client.send(t, method, path, body)
}

// withHeaders adds headers to each request.
type withHeaders struct {
	http.RoundTripper
	header http.Header
}

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range h.header {
		r.Header[name] = values
	}
	return h.RoundTripper.RoundTrip(r)
}

func TestAdministratorsImpersonate(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*testPlane{"in process": start(t), "TLS": startTLS(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.create(t, clusterRolesPath, roleBody("ClusterRole", "r", `{"apiGroups":["authentication.k8s.io"],
				"resources":["selfsubjectreviews"],"verbs":["create"]}`))
			w.create(t, clusterRoleBindingsPath, strings.Replace(bindingBody("ClusterRoleBinding", "b", "ClusterRole/r",
				"system:unauthenticated"), `"User"`, `"Group"`, 1))
			for _, c := range []struct {
				headers []string
				want    string
			}{
				{[]string{"Impersonate-User", "jane"}, "jane  [system:authenticated] map[]"},
				{[]string{"impersonate-user", "jane"}, "jane  [system:authenticated] map[]"},
				{[]string{"Impersonate-User", "jane", "Impersonate-Group", "devs", "Impersonate-Group", "ops", "Impersonate-Uid", "7"},
					"jane 7 [devs ops system:authenticated] map[]"},
				{[]string{"Impersonate-User", "jane", "Impersonate-Group", "system:authenticated"},
					"jane  [system:authenticated] map[]"},
				{[]string{"Impersonate-User", "jane", "Impersonate-Group", "system:unauthenticated"},
					"jane  [system:unauthenticated] map[]"},
				{[]string{"Impersonate-User", "jane", "Impersonate-Group", "system:masters"},
					"jane  [system:masters system:authenticated] map[]"},
				{[]string{"Impersonate-User", "jane", "Impersonate-Extra-Scopes", "a", "Impersonate-Extra-Scopes", "b",
					"Impersonate-Extra-Example.com%2Fx", "c"}, "jane  [system:authenticated] map[example.com/x:[c] scopes:[a b]]"},
				{[]string{"Impersonate-User", "jane", "Impersonate-Extra-A%", "1"}, "jane  [system:authenticated] map[a%:[1]]"},
				{[]string{"Impersonate-User", "system:serviceaccount:ci:bot"}, "system:serviceaccount:ci:bot  " +
					"[system:serviceaccounts system:serviceaccounts:ci system:authenticated] map[]"},
				{[]string{"Impersonate-User", "system:serviceaccount:ci:bot", "Impersonate-Group", "a"},
					"system:serviceaccount:ci:bot  [a system:authenticated] map[]"},
				{[]string{"Impersonate-User", "system:serviceaccount:ci:"}, "system:serviceaccount:ci:  [system:authenticated] map[]"},
				{[]string{"Impersonate-User", "system:node:a"}, "system:node:a  [system:nodes system:authenticated] map[]"},
				{[]string{"Impersonate-User", "system:node:a", "Impersonate-Group", "x"},
					"system:node:a  [x system:authenticated] map[]"},
				{[]string{"Impersonate-User", "system:anonymous"}, "system:anonymous  [system:unauthenticated] map[]"},
				{[]string{"Impersonate-User", ""}, whoAmI(t, w)},
				{[]string{"Impersonate-Other", "a"}, whoAmI(t, w)},
			} {
				if got := whoAmI(t, w, c.headers...); got != c.want {
					t.Errorf("%q: the user is %s, want %s", c.headers, got, c.want)
				}
			}
			config := rest.CopyConfig(w.config)
			config.Impersonate = rest.ImpersonationConfig{UserName: "jane", Groups: []string{"dev"}}
			if _, err := typed(t, config, "").CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err == nil ||
				!strings.Contains(err.Error(), `User "jane" cannot list resource "configmaps"`) {
				t.Errorf("a typed client that acts as jane: %v", err)
			}
		})
	}
}

// A user needs the right to impersonate for each header. The errors are Kubernetes'.
func TestImpersonationNeedsRights(t *testing.T) {
	t.Parallel()
	admin := startTLS(t)
	bob := admin.as(t, must(admin.IssueClient("bob"))(t))
	const firstError = `configmaps is forbidden: User "bob" cannot impersonate-on:user-info:list resource "configmaps" in API ` +
		`group "" in the namespace "default"`
	forbidden := func(text string, headers ...string) {
		t.Helper()
		bob.get(t, configMaps, headers...).wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden, text)
	}
	forbidden(firstError, "Impersonate-User", "jane")
	forbidden(firstError, "Impersonate-User", "jane", "Impersonate-Group", "system:masters")
	forbidden(`cannot impersonate-on:serviceaccount:list`, "Impersonate-User", "system:serviceaccount:ci:bot")
	forbidden(`cannot impersonate-on:arbitrary-node:list`, "Impersonate-User", "system:node:a")
	forbidden(`serviceaccounts "bot" is forbidden: User "bob" cannot impersonate resource "serviceaccounts" in API group "" `+
		`in the namespace "ci"`, "Impersonate-User", "system:serviceaccount:ci:bot", "Impersonate-Group", "a")

	// the verb impersonate
	allow(t, admin, "bob", `{"apiGroups":[""],"resources":["users"],"verbs":["impersonate"],"resourceNames":["jane"]},
		{"apiGroups":[""],"resources":["groups"],"verbs":["impersonate"],"resourceNames":["devs"]},
		{"apiGroups":["authentication.k8s.io"],"resources":["uids"],"verbs":["impersonate"],"resourceNames":["7"]},
		{"apiGroups":["authentication.k8s.io"],"resources":["userextras/scopes"],"verbs":["impersonate"]}`)
	all := []string{"Impersonate-User", "jane", "Impersonate-Group", "devs", "Impersonate-Uid", "7", "Impersonate-Extra-Scopes", "a"}
	if got := whoAmI(t, bob, all...); got != "jane 7 [devs system:authenticated] map[scopes:[a]]" {
		t.Errorf("the user is %s", got)
	}
	for name, headers := range map[string][]string{
		"another user":  {"Impersonate-User", "root"},
		"another group": {"Impersonate-User", "jane", "Impersonate-Group", "system:masters"},
		"another uid":   {"Impersonate-User", "jane", "Impersonate-Uid", "8"},
		"another key":   {"Impersonate-User", "jane", "Impersonate-Extra-Other", "a"},
		"the anonymous": {"Impersonate-User", "system:anonymous"},
	} {
		if r := bob.get(t, configMaps, headers...); r.code != http.StatusForbidden ||
			!strings.Contains(string(r.body), `User \"bob\" cannot impersonate`) {
			t.Errorf("%s: %d %s", name, r.code, r.body)
		}
	}
	admin.send(t, http.MethodDelete, clusterRoleBindingsPath+"/bob", "").want(t, http.StatusOK)
	forbidden(firstError, "Impersonate-User", "jane")
	// a user with rights of its own has those of the other user only
	allow(t, admin, "eve", `{"apiGroups":[""],"resources":["users","configmaps"],"verbs":["*"]}`)
	eve := admin.as(t, must(admin.IssueClient("eve"))(t))
	eve.get(t, configMaps).want(t, http.StatusOK)
	eve.get(t, configMaps, "Impersonate-User", "jane").wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
		`User "jane" cannot list`)
}

// Constrained impersonation (KEP-5284) needs a right for the user and one for the request.
func TestConstrainedImpersonation(t *testing.T) {
	t.Parallel()
	admin := startTLS(t)
	bob := admin.as(t, must(admin.IssueClient("bob"))(t))
	jane := `{"apiGroups":["authentication.k8s.io"],"resources":["users"],"resourceNames":["jane"],
		"verbs":["impersonate:user-info"]}`
	allow(t, admin, "jane", `{"apiGroups":[""],"resources":["configmaps","secrets"],"verbs":["list"]}`)
	admin.create(t, clusterRolesPath, roleBody("ClusterRole", "bob", jane+`,{"apiGroups":[""],"resources":["configmaps"],
		"verbs":["impersonate-on:user-info:list"]}`))
	admin.create(t, clusterRoleBindingsPath, bindingBody("ClusterRoleBinding", "bob", "ClusterRole/bob", "bob"))
	bob.get(t, configMaps, "Impersonate-User", "jane").want(t, http.StatusOK)
	for path, text := range map[string]string{
		"/api/v1/namespaces/default/secrets": `cannot impersonate-on:user-info:list resource "secrets"`,
		configMaps + "/a":                    `cannot impersonate-on:user-info:get resource "configmaps"`,
	} {
		bob.get(t, path, "Impersonate-User", "jane").wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden, text)
	}
	bob.get(t, configMaps, "Impersonate-User", "root").wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
		`users.authentication.k8s.io "root" is forbidden: User "bob" cannot impersonate:user-info resource "users"`)
	bob.get(t, configMaps, "Impersonate-User", "jane", "Impersonate-Group", "system:masters").wantError(t,
		http.StatusForbidden, metav1.StatusReasonForbidden, "impersonating the system:masters group is not allowed")
}

// A service account may impersonate the node of its pod, and no other.
func TestImpersonationOfTheAssociatedNode(t *testing.T) {
	t.Parallel()
	admin := startTLS(t)
	for _, name := range []string{"a", "b"} {
		admin.create(t, "/api/v1/nodes", `{"metadata":{"name":"`+name+`"}}`)
	}
	admin.create(t, "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"agent"}}`)
	admin.create(t, podsPath, `{"metadata":{"name":"p"},"spec":{"nodeName":"a","serviceAccountName":"agent",
		"containers":[{"name":"c","image":"i"}]}}`)
	var issued struct{ Status struct{ Token string } }
	admin.send(t, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts/agent/token",
		`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest",
		"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}}}`).want(t, http.StatusCreated).into(t, &issued)
	allow(t, admin, "system:serviceaccount:default:agent", `{"apiGroups":["authentication.k8s.io"],"resources":["nodes"],
		"verbs":["impersonate:associated-node"]},{"apiGroups":["authentication.k8s.io"],
		"resources":["selfsubjectreviews"],"verbs":["impersonate-on:associated-node:create"]}`)
	config := rest.CopyConfig(admin.config)
	config.CertData, config.KeyData, config.BearerToken = nil, nil, issued.Status.Token
	agent := admin.as(t, config)
	if got := whoAmI(t, agent, "Impersonate-User", "system:node:a"); got != "system:node:a  [system:nodes system:authenticated] map[]" {
		t.Errorf("the user is %s", got)
	}
	agent.send(t, http.MethodPost, selfReviews, `{}`, "Impersonate-User", "system:node:b").wantError(t, http.StatusForbidden,
		metav1.StatusReasonForbidden, `cannot impersonate-on:arbitrary-node:create resource "selfsubjectreviews"`)
	agent.get(t, configMaps, "Impersonate-User", "system:node:a").wantError(t, http.StatusForbidden,
		metav1.StatusReasonForbidden, `cannot impersonate-on:associated-node:list resource "configmaps"`)
}

// A request that names parts of a user without its name is invalid, and the answer does not repeat all of a long one.
func TestImpersonationWithoutUser(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.get(t, configMaps, "Impersonate-Group", "a\"b").wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest,
		`requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a\"b"}, Extra:map[string][]string(nil)} `+
			"without impersonating a user name")
	for _, header := range []string{"Impersonate-Uid", "Impersonate-Extra-a"} {
		w.get(t, configMaps, header, "a").wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest,
			"without impersonating a user name")
	}
	r := w.get(t, configMaps, "Impersonate-Group", strings.Repeat("a", 500_000))
	if r.want(t, http.StatusBadRequest); len(r.body) > 6<<10 {
		t.Errorf("the answer has %d bytes", len(r.body))
	}
}

// Thousands of groups are as many checks, and the answer is the same as for one.
func TestImpersonationOfManyGroups(t *testing.T) {
	t.Parallel()
	w := start(t)
	allow(t, w, "bob", `{"apiGroups":[""],"resources":["users","groups"],"verbs":["impersonate"]}`)
	groups := make([]string, 20_000)
	for i := range groups {
		groups[i] = fmt.Sprint("group-", i)
	}
	h := http.Header{"Impersonate-User": {"jane"}, "Impersonate-Group": groups}
	sendHeader(t, w, http.MethodGet, configMaps, "", h).want(t, http.StatusForbidden)
	w.create(t, rolesPath, roleBody("Role", "r", readMaps))
	w.create(t, roleBindingsPath, strings.Replace(bindingBody("RoleBinding", "b", "Role/r", "group-19999"), `"User"`,
		`"Group"`, 1))
	sendHeader(t, w, http.MethodGet, configMaps+"/none", "", h).want(t, http.StatusNotFound)
}

// The headers of a request that runs as another user are not sent to other servers, and its caller keeps them.
func TestImpersonationLeavesTheCallersHeaders(t *testing.T) {
	t.Parallel()
	w := start(t)
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, w.host+configMaps, http.NoBody))(t)
	req.Header.Set("Impersonate-User", "jane")
	resp := must(w.wire.Do(req))(t)
	resp.Body.Close()
	if got := req.Header["Impersonate-User"]; !slices.Equal(got, []string{"jane"}) {
		t.Errorf("the header is %q", got)
	}
}
