package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The messages of a policy show its parameters, so only a user who may read them can write such a policy or binding.
func TestPoliciesReadOnlyWhatTheirAuthorMayRead(t *testing.T) {
	t.Parallel()
	const writePolicies = `{"apiGroups":["admissionregistration.k8s.io"],"resources":["*"],"verbs":["*"]}`
	w := start(t)
	allow(t, w, "jane", writePolicies+`,{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]},`+
		`{"apiGroups":[""],"resources":["secrets"],"resourceNames":["own"],"verbs":["get"]}`)
	for _, kind := range []string{"Validating", "Mutating"} {
		path := "/apis/admissionregistration.k8s.io/v1/" + strings.ToLower(kind) + "admissionpolicies"
		spec := `"validations":[{"expression":"false","messageExpression":"string(params.data.a)"}]`
		if kind == "Mutating" {
			spec = `"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":` +
				`"[JSONPatch{op: \"add\", path: \"/data/a\", value: string(params.data.a)}]"}}]`
		}
		policy := func(name, param string) string {
			return `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"` + kind + `AdmissionPolicy","metadata":{"name":"` +
				name + `"},"spec":{"failurePolicy":"Fail","paramKind":{"apiVersion":"v1","kind":"` + param +
				`"},"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],` +
				`"resources":["configmaps"]}]},` + spec + `}}`
		}
		bindings := strings.Replace(path, "policies", "policybindings", 1)
		binding := func(name, policy, ref string) string {
			actions := `"validationActions":["Deny"],`
			if kind == "Mutating" {
				actions = ""
			}
			return `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"` + kind +
				`AdmissionPolicyBinding","metadata":{"name":"` + name + `"},"spec":{` + actions + `"policyName":"` + policy +
				`","paramRef":{` + ref + `,"parameterNotFoundAction":"Allow"}}}`
		}
		forbidden := func(method, path, body, message string, headers ...string) {
			t.Helper()
			w.sendAs(t, []string{"jane"}, method, path, body, headers...).wantError(t, http.StatusUnprocessableEntity,
				metav1.StatusReasonInvalid, message)
		}
		const noKind = `spec.paramKind: Forbidden: user &{jane  [system:authenticated] map[]} must have "get" permission ` +
			`on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)`
		forbidden(http.MethodPost, path, policy("secrets", "Secret"), noKind)
		w.sendAs(t, []string{"jane"}, http.MethodPost, path, policy("maps", "ConfigMap")).want(t, http.StatusCreated)
		forbidden(http.MethodPatch, path+"/maps", `{"spec":{"paramKind":{"kind":"Secret"}}}`, noKind, "Content-Type",
			mergeType)
		forbidden(http.MethodPatch, path+"/maps?fieldManager=m&force=true", policy("maps", "Secret"), noKind,
			"Content-Type", applyType)
		w.create(t, path, policy("secrets", "Secret"))
		w.sendAs(t, []string{"jane"}, http.MethodPatch, path+"/secrets", `{"metadata":{"labels":{"a":"b"}}}`,
			"Content-Type", mergeType).want(t, http.StatusOK) // it reads what it read before
		const other, own = `"name":"other","namespace":"default"`, `"name":"own","namespace":"default"`
		forbidden(http.MethodPost, bindings, binding("b", "secrets", other),
			`spec.paramRef: Forbidden: user &{jane  [system:authenticated] map[]} does not have "get" permission on the `+
				`object referenced by paramRef`)
		forbidden(http.MethodPost, bindings, binding("b", "secrets", `"selector":{}`), `does not have "list" permission`)
		forbidden(http.MethodPost, bindings, binding("b", "none", other), `unable to get policy none to determine minimum`)
		w.sendAs(t, []string{"jane"}, http.MethodPost, bindings, binding("b", "secrets", own)).want(t, http.StatusCreated)
		w.sendAs(t, []string{"jane"}, http.MethodPost, bindings, binding("m", "maps", other)).want(t, http.StatusCreated)
		forbidden(http.MethodPatch, bindings+"/m", `{"spec":{"policyName":"secrets"}}`, `does not have "get" permission`,
			"Content-Type", mergeType)
		forbidden(http.MethodPatch, bindings+"/b", `{"spec":{"paramRef":{"name":"other"}}}`,
			`does not have "get" permission`, "Content-Type", mergeType)
	}
}

// A role for all paths, such as a monitor has, shows no objects.
func TestPathsOfBowlineAreForAdministrators(t *testing.T) {
	t.Parallel()
	w := start(t)
	allow(t, w, "mon", `{"nonResourceURLs":["*"],"verbs":["get"]}`)
	w.sendAs(t, []string{"mon"}, http.MethodGet, "/metrics", "").want(t, http.StatusOK)
	for _, path := range []string{"/bowline/backup", "/bowline/why"} {
		w.sendAs(t, []string{"mon"}, http.MethodGet, path, "").wantError(t, http.StatusForbidden,
			metav1.StatusReasonForbidden, `User "mon" cannot get path "`+path+`": only members of system:masters may`)
		w.sendAs(t, []string{"mon"}, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			`{"spec":{"nonResourceAttributes":{"verb":"get","path":"`+path+`"}}}`).wantText(t,
			http.StatusCreated, `"allowed":false,"denied":true`)
	}
	w.send(t, http.MethodGet, "/bowline/backup", "").want(t, http.StatusOK)
}
