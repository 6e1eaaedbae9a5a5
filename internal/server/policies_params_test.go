package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
)

// TestPolicyParams checks which parameters a binding refers to, and the effect of missing ones.
func TestPolicyParams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		define(t, w, widgets())
		w.create(t, "/api/v1/namespaces", `{"metadata":{"name":"other"}}`)
		for _, object := range []struct{ path, name, labels, max string }{
			{"/api/v1/namespaces/default/configmaps", "limits", `"use":"yes"`, "1"},
			{"/api/v1/namespaces/other/configmaps", "limits", `"use":"yes"`, "2"},
			{"/api/v1/namespaces/other/configmaps", "more", `"use":"yes"`, "3"},
			{"/api/v1/namespaces/other/configmaps", "unused", `"use":"no"`, "0"},
		} {
			w.create(t, object.path, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s}},"data":{"max":%q}}`, object.name,
				object.labels, object.max))
		}
		w.create(t, "/apis/example.com/v1/namespaces/default/widgets", widget("red", `{"color":"red","size":2}`))
		w.create(t, "/api/v1/nodes", `{"metadata":{"name":"node-1","labels":{"max":"1"}}}`)
		data := `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},`
		custom := `"paramKind":{"apiVersion":"example.com/v1","kind":"Widget"},`
		node := `"paramKind":{"apiVersion":"v1","kind":"Node"},`
		onNodes := `"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],
			"resources":["nodes"]}]},`
		// show fails with the parameter in the message.
		show := `"validations":[{"expression":"false","messageExpression":"params.kind + ' ' + params.metadata.namespace + '/' + ` +
			`params.metadata.name + ' ' + params.data.max"}]`
		ref := func(members string) string {
			return `"paramRef":` + specOf(t, `"parameterNotFoundAction":"Deny"`, members)
		}
		allow := `,"parameterNotFoundAction":"Allow"`
		const none = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
		all := validate("int(params.data.max) < 3")
		checkPolicyCases(t, w, []policyCase{
			{name: "by name, in the namespace of the write", policy: data + show, binding: ref(`"name":"limits"`), code: 422,
				want: "ConfigMap default/limits 1"},
			{name: "by name, in a namespace", policy: data + show, binding: ref(`"name":"limits","namespace":"other"`),
				code: 422, want: "ConfigMap other/limits 2"},
			{name: "a missing name", policy: data + show, binding: ref(`"name":"nothing"`), code: 422, want: none},
			{name: "a missing name with Ignore", policy: `"failurePolicy":"Ignore",` + data + show,
				binding: ref(`"name":"nothing"`)},
			{name: "a missing name that is allowed", policy: data + show, binding: ref(`"name":"nothing"` + allow)},
			{name: "a missing name that warns", policy: data + show, binding: `"validationActions":["Warn"],` +
				ref(`"name":"nothing"`), code: 422, want: none},
			{name: "a selector", policy: data + show, binding: ref(`"selector":{"matchLabels":{"use":"yes"}}`), code: 422,
				want: "ConfigMap default/limits 1"},
			{name: "a selector with a violated parameter", policy: data + all,
				binding: ref(`"selector":{"matchLabels":{"use":"yes"}},"namespace":"other"`), code: 422,
				want: "failed expression: int(params.data.max) < 3"},
			{name: "a selector without a violated parameter", policy: data + all,
				binding: ref(`"selector":{"matchLabels":{"use":"no"}},"namespace":"other"`)},
			{name: "a selector without objects", policy: data + show, binding: ref(`"selector":{"matchLabels":{"use":"x"}}`),
				code: 422, want: none},
			{name: "a selector without objects that is allowed", policy: data + show,
				binding: ref(`"selector":{"matchLabels":{"use":"x"}}` + allow)},
			{name: "a custom resource", policy: custom + validate("params.spec.color == 'red' && params.kind == 'Widget'"),
				binding: ref(`"name":"red"`)},
			{name: "a cluster-scoped parameter", policy: node + validate("params.metadata.labels.max == '1' && "+
				"!has(params.metadata.namespace)"), binding: ref(`"name":"node-1"`)},
			{name: "a namespace of a cluster-scoped parameter", policy: node + validate("true"),
				binding: ref(`"name":"node-1","namespace":"default"`), code: 422, want: "failed to configure binding: " +
					"paramRef.namespace must not be provided for a cluster-scoped `paramKind`"},
			{name: "no namespace", policy: onNodes + data + validate("true"), path: "/api/v1/nodes",
				binding: ref(`"name":"limits"`), code: 422, want: "failed to configure binding: cannot use namespaced paramRef in " +
					"policy binding that matches cluster-scoped resources"},
			{name: "an unknown kind", policy: `"paramKind":{"apiVersion":"example.com/v1","kind":"Nothing"},` + validate("true"),
				binding: ref(`"name":"x"`), code: 422, want: "failed to configure policy: failed to find resource referenced by " +
					"paramKind: 'example.com/v1, Kind=Nothing'"},
			{name: "an unknown kind with Ignore", policy: `"failurePolicy":"Ignore","paramKind":{"apiVersion":"example.com/v1",` +
				`"kind":"Nothing"},` + validate("false"), binding: ref(`"name":"x"`)},
			{name: "parameters in a condition", policy: data + `"matchConditions":[{"name":"c","expression":` +
				`"params.metadata.name == 'other'"}],` + validate("false"), binding: ref(`"name":"limits"`)},
			{name: "parameters in a variable", policy: data + `"variables":[{"name":"v","expression":` +
				`"params.metadata.name"}],` + validate("variables.v == 'limits'"), binding: ref(`"name":"limits"`)},
		})
	})
}

// TestPolicyParamsTakeEffectAtOnce checks that changed parameters, and a new definition of their kind, apply to the
// next write.
func TestPolicyParamsTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		write := func(code int) {
			t.Helper()
			w.send(t, http.MethodPost, configMaps, `{"metadata":{"generateName":"a-"}}`).want(t, code)
		}
		enact(t, w, "p", `"paramKind":{"apiVersion":"example.com/v1","kind":"Widget"},`+validate("params.spec.size < 3"),
			`"paramRef":{"name":"limits","parameterNotFoundAction":"Deny"}`)
		write(http.StatusUnprocessableEntity) // the kind is not defined
		define(t, w, widgets())
		write(http.StatusUnprocessableEntity) // no parameters
		w.create(t, widgetsPath, widget("limits", `{"size":2}`))
		write(http.StatusCreated)
		w.merge(t, widgetsPath+"/limits", `{"spec":{"size":4}}`).want(t, http.StatusOK)
		write(http.StatusUnprocessableEntity)
		w.merge(t, widgetsPath+"/limits", `{"spec":{"size":1}}`).want(t, http.StatusOK)
		write(http.StatusCreated)
		w.send(t, http.MethodDelete, widgetsPath+"/limits", "").want(t, http.StatusOK)
		write(http.StatusUnprocessableEntity)
	})
}
