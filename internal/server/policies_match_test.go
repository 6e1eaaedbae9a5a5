package server_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPolicyMatching checks which writes the rules and selectors of a policy select. A binding selects in the same
// way.
func TestPolicyMatching(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.create(t, "/api/v1/namespaces", `{"metadata":{"name":"guarded","labels":{"guard":"yes"}}}`)
		w.create(t, configMaps, `{"metadata":{"name":"stored","labels":{"app":"web"}}}`)
		w.create(t, deployments, strings.Replace(ownedDeployment, `"name":"d"`, `"name":"d1"`, 1))
		const (
			guarded = "/api/v1/namespaces/guarded/configmaps"
			nodes   = "/api/v1/nodes"
			spaces  = "/api/v1/namespaces"
			betaOld = "/apis/extensions/v1beta1/namespaces/default/deployments/d1"
		)
		rule := func(members string) string {
			return "[" + specOf(t, `"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]`, members) + "]"
		}
		rules := func(members string) string { return `"resourceRules":` + rule(members) }
		excluding := func(members string) string {
			return `"resourceRules":` + rule("") + `,"excludeResourceRules":` + rule(members)
		}
		web := `{"metadata":{"name":"a","labels":{"app":"web"}}}`
		for _, c := range []struct {
			name, match        string
			method, path, body string // a create of the config map a, where empty
			denied             bool
		}{
			{name: "everything", match: rules(""), denied: true},
			{name: "a resource", match: rules(`"resources":["configmaps"]`), denied: true},
			{name: "one of several", match: rules(`"resources":["pods","configmaps/status","configmaps"]`), denied: true},
			{name: "another resource", match: rules(`"resources":["secrets"]`)},
			{name: "no subresource", match: rules(`"resources":["*/scale"]`)},
			{name: "a group", match: rules(`"apiGroups":[""]`), denied: true},
			{name: "another group", match: rules(`"apiGroups":["apps"]`)},
			{name: "another version", match: rules(`"apiVersions":["v2"]`)},
			{name: "an operation", match: rules(`"operations":["UPDATE","CREATE"]`), denied: true},
			{name: "another operation", match: rules(`"operations":["UPDATE","DELETE","CONNECT"]`)},
			{name: "a name", match: rules(`"resourceNames":["b","a"]`), denied: true},
			{name: "another name", match: rules(`"resourceNames":["b"]`)},
			{name: "namespaced", match: rules(`"scope":"Namespaced"`), denied: true},
			{name: "cluster-scoped", match: rules(`"scope":"Cluster"`)},
			{name: "a cluster-scoped node", match: rules(`"scope":"Cluster"`), path: nodes, denied: true},
			{name: "a namespaced node", match: rules(`"scope":"Namespaced"`), path: nodes},
			{name: "a cluster-scoped namespace", match: rules(`"scope":"Cluster"`), path: spaces, denied: true},
			{name: "a namespaced namespace", match: rules(`"scope":"Namespaced"`), path: spaces},
			{name: "excluded", match: excluding(`"resources":["configmaps"]`)},
			{name: "excluded by name", match: excluding(`"resourceNames":["a"]`)},
			{name: "not excluded", match: excluding(`"resources":["secrets"]`), denied: true},
			{name: "no labels", match: rules("") + `,"objectSelector":{"matchLabels":{"app":"web"}}`},
			{name: "labels", match: rules("") + `,"objectSelector":{"matchLabels":{"app":"web"}}`, body: web, denied: true},
			{name: "labels of the old object", match: rules("") + `,"objectSelector":{"matchLabels":{"app":"web"}}`,
				method: http.MethodPatch, path: configMaps + "/stored", body: `{"metadata":{"labels":null}}`, denied: true},
			{name: "labels of a deleted object", match: rules("") + `,"objectSelector":{"matchLabels":{"app":"web"}}`,
				method: http.MethodDelete, path: configMaps + "/stored", denied: true},
			{name: "no labels of the namespace", match: rules("") + `,"namespaceSelector":{"matchLabels":{"guard":"yes"}}`},
			{name: "labels of the namespace", match: rules("") + `,"namespaceSelector":{"matchLabels":{"guard":"yes"}}`,
				path: guarded, denied: true},
			{name: "labels of a namespace", match: rules("") + `,"namespaceSelector":{"matchLabels":{"app":"web"}}`,
				path: spaces, body: web, denied: true},
			{name: "a node has no namespace", match: rules("") + `,"namespaceSelector":{"matchLabels":{"guard":"yes"}}`,
				path: nodes, denied: true},
			{name: "a scale", match: rules(`"resources":["deployments/scale"]`), method: http.MethodPatch,
				path: deployments + "/d1/scale", body: `{"spec":{"replicas":3}}`, denied: true},
			{name: "a status", match: rules(`"resources":["deployments/*"]`), method: http.MethodPatch,
				path: deployments + "/d1/status", body: `{"status":{"replicas":3}}`, denied: true},
			{name: "no status", match: rules(`"resources":["deployments"]`), method: http.MethodPatch,
				path: deployments + "/d1/status", body: `{"status":{"observedGeneration":3}}`},
			{name: "an equivalent version", match: rules(`"apiGroups":["apps"],"apiVersions":["v1"]`), method: http.MethodPatch,
				path: betaOld, body: `{"metadata":{"labels":{"a":"b"}}}`, denied: true},
			{name: "exactly another version", match: rules(`"apiGroups":["apps"],"apiVersions":["v1"]`) +
				`,"matchPolicy":"Exact"`, method: http.MethodPatch, path: betaOld, body: `{"metadata":{"labels":{"a":"b"}}}`},
			{name: "exactly this version", match: rules(`"apiGroups":["extensions"],"apiVersions":["v1beta1"]`) +
				`,"matchPolicy":"Exact"`, method: http.MethodPatch, path: betaOld, body: `{"metadata":{"labels":{"a":"b"}}}`,
				denied: true},
		} {
			for _, by := range []string{"policy", "binding"} {
				change, binding := validate("false"), ""
				if all := `{"resourceRules":` + rule("") + `}`; by == "policy" {
					change += `,"matchConstraints":{` + c.match + `}`
				} else {
					change, binding = change+`,"matchConstraints":`+all, `"matchResources":{`+c.match+`}`
				}
				enact(t, w, "p", change, binding)
				method, path, body := c.method, c.path, c.body
				if method == "" {
					method = http.MethodPost
				}
				if path == "" {
					path = configMaps
				}
				if body == "" {
					body = `{"metadata":{"name":"a"}}`
				}
				var headers []string
				if method == http.MethodPatch {
					headers = []string{"Content-Type", mergeType}
				}
				r := w.send(t, method, path+"?dryRun=All", body, headers...)
				denied := r.code == http.StatusUnprocessableEntity
				if denied != c.denied || !denied && r.code/100 != 2 {
					t.Errorf("%s, of a %s: got %d, want denied %t: %s", c.name, by, r.code, c.denied, r.body)
				}
				repeal(t, w, "p")
			}
		}
	})
}

// TestPolicySeesMatchedVersion checks that expressions see the object in the version that a rule matches, a scale as
// a Scale, and custom resources.
func TestPolicySeesMatchedVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		define(t, w, widgets())
		w.create(t, deployments, strings.Replace(ownedDeployment, `"name":"d"`, `"name":"d1"`, 1))
		apps := `"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v1"],
			"resources":["deployments","deployments/scale"]}]},`
		custom := `"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":["example.com"],"apiVersions":["v1"],
			"resources":["widgets"]}]},`
		checkPolicyCases(t, w, []policyCase{
			{name: "an equivalent version", method: http.MethodPatch,
				path: "/apis/extensions/v1beta1/namespaces/default/deployments/d1", body: `{"metadata":{"labels":{"a":"b"}}}`,
				policy: apps + validate("object.apiVersion == 'apps/v1' && oldObject.apiVersion == 'apps/v1' && "+
					"request.kind.group == 'apps' && request.requestKind.group == 'extensions' && "+
					"request.resource.version == 'v1' && request.requestResource.version == 'v1beta1'")},
			{name: "a scale", method: http.MethodPatch, path: deployments + "/d1/scale", body: `{"spec":{"replicas":3}}`,
				policy: apps + validate("object.kind == 'Scale' && object.spec.replicas == 3 && "+
					"request.requestKind.kind == 'Scale' && request.subResource == 'scale'")},
			{name: "a custom resource", path: widgetsPath, body: widget("a", `{"size":3}`),
				policy: custom + validate("object.spec.size == 3 && object.spec.color == 'blue' && object.kind == 'Widget'")},
			{name: "a rejected custom resource", path: widgetsPath, body: widget("b", `{"size":3}`),
				policy: custom + validate("object.spec.size < 3"), code: 422, want: "failed expression: object.spec.size < 3"},
		})
	})
}

// TestPoliciesDoNotLockOut checks that a policy that rejects everything does not apply to policies and bindings, nor
// to the questions that clients ask about themselves.
func TestPoliciesDoNotLockOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		everything := `"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
			"resources":["*/*"]}]},`
		enact(t, w, "p", everything+validate("object.nothing == oldObject.nothing"), "")
		w.send(t, http.MethodPost, validatingPath, `{"metadata":{"name":"a"}}`).wantError(t, http.StatusUnprocessableEntity,
			metav1.StatusReasonInvalid, "denied request")
		enact(t, w, "q", everything+validate("false"), "")
		w.create(t, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			`{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`)
		w.create(t, "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{}`)
		w.merge(t, policiesPath+"/p", `{"metadata":{"labels":{"a":"b"}}}`).want(t, http.StatusOK)
		w.merge(t, policiesPath+"/p/status", `{"status":{"observedGeneration":1}}`).want(t, http.StatusOK)
		repeal(t, w, "p")
		repeal(t, w, "q")
		w.createConfigMaps(t, "default", "a")
	})
}
