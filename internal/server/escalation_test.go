package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	readMaps   = `{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}`
	readMore   = `{"apiGroups":[""],"resources":["configmaps","secrets"],"verbs":["get"]}`
	writeRoles = `{"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"],
		"verbs":["get","create","update","patch","delete"]}`
	// notHeld is the end of the error about the rules readMore.
	notHeld = "is attempting to grant RBAC permissions not currently held:\n" +
		`{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`
)

// A user who may write roles can grant by them what the user may do, and nothing else, whichever way they are written.
func TestRolesCannotEscalate(t *testing.T) {
	t.Parallel()
	w := start(t)
	allow(t, w, "jane", readMaps+","+writeRoles)
	for _, kind := range []string{"Role", "ClusterRole"} {
		path := rolesPath
		if kind == "ClusterRole" {
			path = clusterRolesPath
		}
		w.create(t, path, roleBody(kind, "old", readMaps))
		apply := []string{"Content-Type", applyType}
		for _, way := range []struct {
			name, method, path string
			body               func(rules string) string
			headers            []string
		}{
			{"create", http.MethodPost, path, func(rules string) string { return roleBody(kind, "new", rules) }, nil},
			{"update", http.MethodPut, path + "/old", func(rules string) string { return roleBody(kind, "old", rules) }, nil},
			{"create by update", http.MethodPut, path + "/put", func(rules string) string { return roleBody(kind, "put", rules) },
				nil},
			{"merge patch", http.MethodPatch, path + "/old", func(rules string) string { return `{"rules":[` + rules + `]}` },
				[]string{"Content-Type", mergeType}},
			{"strategic merge patch", http.MethodPatch, path + "/old",
				func(rules string) string { return `{"rules":[` + rules + `]}` }, []string{"Content-Type", strategicType}},
			{"JSON patch", http.MethodPatch, path + "/old",
				func(rules string) string { return `[{"op":"replace","path":"/rules/0","value":` + rules + `}]` },
				[]string{"Content-Type", jsonPatchType}},
			{"apply", http.MethodPatch, path + "/old?fieldManager=m&force=true",
				func(rules string) string { return roleBody(kind, "old", rules) }, apply},
			{"create by apply", http.MethodPatch, path + "/applied?fieldManager=m",
				func(rules string) string { return roleBody(kind, "applied", rules) }, apply},
		} {
			w.sendAs(t, []string{"jane"}, way.method, way.path, way.body(readMore), way.headers...).wantError(t,
				http.StatusForbidden, metav1.StatusReasonForbidden,
				`is forbidden: user "jane" (groups=["system:authenticated"]) `+notHeld)
			dry := "?dryRun=All"
			if strings.Contains(way.path, "?") {
				dry = "&dryRun=All"
			}
			w.sendAs(t, []string{"jane"}, way.method, way.path+dry, way.body(readMore), way.headers...).want(t,
				http.StatusForbidden)
			if r := w.sendAs(t, []string{"jane"}, way.method, way.path, way.body(readMaps), way.headers...); r.code/100 != 2 {
				t.Errorf("%s: %s with rights that jane has: %d %s", kind, way.name, r.code, r.body)
			}
		}
		if got := w.names(t, path); !strings.Contains(got, "applied new old put") && kind == "Role" {
			t.Errorf("the roles are %s", got)
		}
		if state := w.state(t, path); strings.Contains(state, "secrets") {
			t.Errorf("a role grants what jane may not do: %s", state)
		}
		// a generated name is not yet there
		w.sendAs(t, []string{"jane"}, http.MethodPost, path, strings.Replace(roleBody(kind, "x", readMore), `"name"`,
			`"generateName"`, 1)).wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
			strings.ToLower(kind)+`s.rbac.authorization.k8s.io is forbidden: user "jane"`)
		// administrators are not checked
		w.send(t, http.MethodPut, path+"/old", roleBody(kind, "old", readMore)).want(t, http.StatusOK)
		// the garbage collector changes owners and finalizers, and nothing else
		w.sendAs(t, []string{"jane"}, http.MethodPatch, path+"/old", `{"metadata":{"finalizers":["example.com/a"]}}`,
			"Content-Type", mergeType).want(t, http.StatusOK)
		w.sendAs(t, []string{"jane"}, http.MethodPatch, path+"/old", `{"metadata":{"labels":{"a":"b"}}}`,
			"Content-Type", mergeType).wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden, notHeld)
	}
}

func TestBindingsCannotEscalate(t *testing.T) {
	t.Parallel()
	w := start(t)
	allow(t, w, "jane", readMaps+","+writeRoles)
	w.create(t, clusterRolesPath, roleBody("ClusterRole", "more", readMore))
	w.create(t, clusterRolesPath, roleBody("ClusterRole", "maps", readMaps))
	for _, kind := range []string{"RoleBinding", "ClusterRoleBinding"} {
		path := roleBindingsPath
		if kind == "ClusterRoleBinding" {
			path = clusterRoleBindingsPath
		}
		w.create(t, path, bindingBody(kind, "old", "ClusterRole/more", "bob"))
		apply := []string{"Content-Type", applyType}
		const toJane = `"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"jane"}]`
		for _, way := range []struct {
			method, path, body string
			headers            []string
		}{
			{http.MethodPost, path, bindingBody(kind, "new", "ClusterRole/more", "jane"), nil},
			{http.MethodPut, path + "/old", bindingBody(kind, "old", "ClusterRole/more", "jane"), nil},
			{http.MethodPut, path + "/put", bindingBody(kind, "put", "ClusterRole/more", "jane"), nil},
			{http.MethodPatch, path + "/old", `{` + toJane + `}`, []string{"Content-Type", mergeType}},
			{http.MethodPatch, path + "/old", `{` + toJane + `}`, []string{"Content-Type", strategicType}},
			{http.MethodPatch, path + "/old", `[{"op":"replace","path":"/subjects/0/name","value":"jane"}]`,
				[]string{"Content-Type", jsonPatchType}},
			{http.MethodPatch, path + "/old?fieldManager=m&force=true", bindingBody(kind, "old", "ClusterRole/more", "jane"), apply},
			{http.MethodPatch, path + "/applied?fieldManager=m", bindingBody(kind, "applied", "ClusterRole/more", "jane"), apply},
		} {
			w.sendAs(t, []string{"jane"}, way.method, way.path, way.body, way.headers...).wantError(t,
				http.StatusForbidden, metav1.StatusReasonForbidden, notHeld)
		}
		w.sendAs(t, []string{"jane"}, http.MethodPost, path, bindingBody(kind, "new", "ClusterRole/lost", "jane")).wantError(t,
			http.StatusNotFound, metav1.StatusReasonNotFound, `clusterrole.rbac.authorization.k8s.io "lost" not found`)
		w.sendAs(t, []string{"jane"}, http.MethodPost, path, bindingBody(kind, "new", "Robot/r", "jane")).want(t,
			http.StatusUnprocessableEntity)
		w.sendAs(t, []string{"jane"}, http.MethodPost, path, bindingBody(kind, "mine", "ClusterRole/maps", "bob")).want(t,
			http.StatusCreated)
		if state := w.state(t, path); strings.Contains(state, `"name":"jane"`+"}") && kind == "RoleBinding" {
			t.Errorf("jane has bound a role: %s", state)
		}
	}
	w.sendAs(t, []string{"jane"}, http.MethodGet, "/api/v1/namespaces/default/secrets/a", "").want(t, http.StatusForbidden)
}

// The verbs escalate and bind permit what the checks would reject.
func TestEscalateAndBind(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, clusterRolesPath, roleBody("ClusterRole", "more", readMore))
	w.create(t, clusterRolesPath, roleBody("ClusterRole", "most", `{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}`))
	allow(t, w, "binder", writeRoles+`,{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],
		"resourceNames":["more"],"verbs":["bind"]}`)
	binder := []string{"binder"}
	w.sendAs(t, binder, http.MethodPost, roleBindingsPath, bindingBody("RoleBinding", "a", "ClusterRole/more", "binder")).want(t,
		http.StatusCreated)
	w.sendAs(t, binder, http.MethodPost, clusterRoleBindingsPath,
		bindingBody("ClusterRoleBinding", "a", "ClusterRole/more", "binder")).want(t, http.StatusCreated)
	w.sendAs(t, binder, http.MethodPost, roleBindingsPath, bindingBody("RoleBinding", "b", "ClusterRole/most", "binder")).want(t,
		http.StatusForbidden)
	w.sendAs(t, binder, http.MethodPost, rolesPath, roleBody("Role", "a", readMore+`,
		{"apiGroups":[""],"resources":["nodes"],"verbs":["get"]}`)).want(t, http.StatusForbidden)

	allow(t, w, "escalator", writeRoles+`,{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],
		"verbs":["escalate"]},{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],
		"resourceNames":["more"],"verbs":["escalate"]}`)
	escalator, all := []string{"escalator"}, `{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}`
	w.sendAs(t, escalator, http.MethodPost, rolesPath, roleBody("Role", "all", all)).want(t, http.StatusCreated)
	w.sendAs(t, escalator, http.MethodPut, clusterRolesPath+"/more", roleBody("ClusterRole", "more", all)).want(t,
		http.StatusOK)
	w.sendAs(t, escalator, http.MethodPut, clusterRolesPath+"/most", roleBody("ClusterRole", "most", all+","+all)).want(t,
		http.StatusForbidden)
	w.sendAs(t, escalator, http.MethodPost, roleBindingsPath, bindingBody("RoleBinding", "c", "Role/all", "escalator")).want(t,
		http.StatusForbidden)
}

// Only users with all rights may write the aggregationRule of a cluster role, which may gather any rules.
func TestAggregationNeedsAllRights(t *testing.T) {
	t.Parallel()
	w := start(t)
	allow(t, w, "jane", readMaps+","+writeRoles)
	allow(t, w, "root", `{"apiGroups":["*"],"resources":["*"],"verbs":["*"]},{"nonResourceURLs":["*"],"verbs":["*"]}`)
	const rule = `"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}`
	aggregated := strings.Replace(roleBody("ClusterRole", "sum", readMaps), `"rules"`, rule+`,"rules"`, 1)
	const text = `clusterroles.rbac.authorization.k8s.io "sum" is forbidden: ` +
		"must have cluster-admin privileges to use the aggregationRule"
	jane, root := []string{"jane"}, []string{"root"}
	w.sendAs(t, jane, http.MethodPost, clusterRolesPath, aggregated).wantError(t, http.StatusForbidden,
		metav1.StatusReasonForbidden, text)
	w.sendAs(t, root, http.MethodPost, clusterRolesPath, aggregated).want(t, http.StatusCreated)
	w.sendAs(t, jane, http.MethodPatch, clusterRolesPath+"/sum", `{"aggregationRule":null}`, "Content-Type", mergeType).
		wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden, text)
	w.sendAs(t, root, http.MethodPatch, clusterRolesPath+"/sum", `{"aggregationRule":null}`, "Content-Type", mergeType).
		want(t, http.StatusOK)
	w.sendAs(t, jane, http.MethodPatch, clusterRolesPath+"/sum", `{`+rule+`}`, "Content-Type", mergeType).
		wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden, text)
}
