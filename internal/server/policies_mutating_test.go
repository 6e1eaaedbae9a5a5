package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/store/storetest"
)

const (
	mutatingPoliciesPath = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
	mutatingBindingsPath = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
)

// mutateBy creates a policy for writes of a resource and a binding, whose specs the changes modify.
func mutateBy(t testing.TB, w *testPlane, name, resource, policyChange, bindingChange string) {
	t.Helper()
	policy := specOf(t, `"reinvocationPolicy":"Never","matchConstraints":{"resourceRules":[{"operations":["*"],
		"apiGroups":["*"],"apiVersions":["*"],"resources":["`+resource+`"]}]}`, policyChange)
	policy = strings.ReplaceAll(policy, `"operations":["*"]`, `"operations":["CREATE","UPDATE"]`)
	binding := specOf(t, `"policyName":"`+name+`"`, bindingChange)
	w.create(t, mutatingPoliciesPath, `{"metadata":{"name":"`+name+`"},"spec":`+policy+`}`)
	w.create(t, mutatingBindingsPath, `{"metadata":{"name":"`+name+`"},"spec":`+binding+`}`)
}

func repealMutating(t testing.TB, w *testPlane, name string) {
	t.Helper()
	for _, path := range []string{mutatingPoliciesPath, mutatingBindingsPath} {
		w.send(t, http.MethodDelete, path+"/"+name, "").want(t, http.StatusOK)
	}
}

// byApply and byPatch return the mutations of a policy, as a member of a spec.
func byApply(expression string) string {
	return fmt.Sprintf(`"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":%q}}]`, expression)
}

func byPatch(expression string) string {
	return fmt.Sprintf(`"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":%q}}]`, expression)
}

// TestMutatingPolicies checks what policies make of the objects of writes, as answered and as stored.
func TestMutatingPolicies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		define(t, w, widgets())
		w.create(t, "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"team"},"data":{"name":"red"}}`)
		w.create(t, deployments, `{"metadata":{"name":"scaled"},"spec":{"selector":{"matchLabels":{"a":"b"}},
			"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
		pod := `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"web","image":"nginx"}]}}`
		sidecar := `Object{spec: Object.spec{containers: [Object.spec.containers{name: "proxy", image: "envoy:1"}]}}`
		const widgetsPath = "/apis/example.com/v1/namespaces/default/widgets"
		for _, c := range []struct {
			name, resource, policy, binding string
			method, path, body              string
			at                              []string
			want                            string // JSON
		}{
			{"a container, with defaults", "pods", byApply(sidecar), "", "POST", podsPath, pod, []string{"spec", "containers"}, `"imagePullPolicy":"IfNotPresent"`},
			{"an excluded pod", "pods", byApply(sidecar) + `,"matchConditions":[{"name":"c","expression":"object.metadata.name != 'a'"}]`, "",
				"POST", podsPath, pod, []string{"spec", "containers"}, `[{"image":"nginx","imagePullPolicy":"Always","name":"web"`},
			{"a label", "configmaps", byApply(`Object{metadata: Object.metadata{labels: {"by": request.userInfo.username}}}`), "",
				"POST", configMaps, `{"metadata":{"name":"a"}}`, []string{"metadata", "labels"}, `{"by":"bowline-admin"}`},
			{"an update", "configmaps", byApply(`Object{data: {"was": oldObject.data.name}}`) + `,"matchConditions":[` +
				`{"name":"c","expression":"request.operation == 'UPDATE'"}]`, "", "PATCH", configMaps + "/team",
				`{"data":{"name":"blue"}}`, []string{"data"}, `{"name":"blue","was":"red"}`},
			{"a parameter", "secrets", `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},` +
				byApply(`Object{metadata: Object.metadata{labels: {"team": params.data.name}}}`),
				`"paramRef":{"name":"team","parameterNotFoundAction":"Deny"}`, "POST", "/api/v1/namespaces/default/secrets",
				`{"metadata":{"name":"a"}}`, []string{"metadata", "labels"}, `{"team":"blue"}`},
			{"a variable", "configmaps", `"variables":[{"name":"n","expression":"object.metadata.name + '-x'"}],` +
				byPatch(`[JSONPatch{op: "add", path: "/data", value: {"n": variables.n}}]`), "", "POST", configMaps,
				`{"metadata":{"name":"a"}}`, []string{"data"}, `{"n":"a-x"}`},
			{"the namespace and the authorizer", "configmaps", byPatch(`[JSONPatch{op: "add", path: "/data", value: {` +
				`namespaceObject.metadata.name: string(authorizer.requestResource.check("create").allowed())}}]`), "", "POST",
				configMaps, `{"metadata":{"name":"a"}}`, []string{"data"}, `{"default":"true"}`},
			{"a custom resource", "widgets", byApply("Object{spec: Object.spec{size: 5}}"), "", "POST", widgetsPath,
				widget("a", `{"color":"red","size":2}`), []string{"spec"}, `"size":5`},
			{"a custom resource by a patch", "widgets", byPatch(`[JSONPatch{op: "replace", path: "/spec/size", value: 6}]`), "",
				"POST", widgetsPath, widget("a", `{"color":"red","size":2}`), []string{"spec"}, `"size":6`},
			{"a scale", "deployments/scale", byApply("Object{spec: Object.spec{replicas: object.spec.replicas + 1}}"), "", "PUT",
				deployments + "/scaled/scale", `{"metadata":{"name":"scaled"},"spec":{"replicas":2}}`, []string{"spec"},
				`{"replicas":3}`},
			{"a status", "deployments/status", byApply("Object{status: Object.status{replicas: 4}}"), "", "PATCH",
				deployments + "/scaled/status", `{"status":{"observedGeneration":1}}`, []string{"status"}, `"replicas":4`},
		} {
			mutateBy(t, w, "p", c.resource, c.policy, c.binding)
			var headers []string
			if c.method == http.MethodPatch {
				headers = []string{"Content-Type", mergeType}
			}
			for _, query := range []string{"?dryRun=All", ""} {
				r := w.send(t, c.method, c.path+query, c.body, headers...)
				if r.code/100 != 2 {
					t.Errorf("%s: got %d %s", c.name, r.code, r.body)
					continue
				}
				u := &unstructured.Unstructured{}
				r.into(t, &u.Object)
				value, _, _ := unstructured.NestedFieldNoCopy(u.Object, c.at...)
				if got := string(must(json.Marshal(value))(t)); !strings.Contains(got, c.want) {
					t.Errorf("%s%s: got %s, want %s", c.name, query, got, c.want)
				}
			}
			repealMutating(t, w, "p")
			if c.method == http.MethodPost {
				w.send(t, http.MethodDelete, c.path+"/a?gracePeriodSeconds=0", "").want(t, http.StatusOK)
			}
		}
	})
}

// TestMutatingPolicyErrors checks the Status of writes whose mutation fails.
func TestMutatingPolicyErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		const by = "policy 'p' with binding 'p' denied request: "
		for _, c := range []struct {
			name, policy, binding string
			code                  int
			reason                metav1.StatusReason
			want                  string
			fatal                 bool // whether the failure policy does not matter
		}{
			{"an expression", byApply("Object{data: object.none}"), "", 403, metav1.StatusReasonInvalid,
				by + "expression 'Object{data: object.none}' resulted in error: no such key: none", false},
			{"a condition", byApply("Object{}") + `,"matchConditions":[{"name":"c","expression":"object.none == 1"}]`, "", 403,
				metav1.StatusReasonInvalid, by + "expression 'object.none == 1' resulted in error: no such key: none", false},
			{"a field", byApply("Object{spec: Object.spec{}}"), "", 403, metav1.StatusReasonInvalid, by + "error applying patch: " +
				"failed to convert patch object to typed object: .spec: field not declared in schema", false},
			{"a parameter", `"paramKind":{"apiVersion":"v1","kind":"Secret"},` + byApply("Object{}"),
				`"paramRef":{"name":"none","parameterNotFoundAction":"Deny"}`, 403, metav1.StatusReasonForbidden, by + "failed to " +
					"configure binding: no params found for policy binding with `Deny` parameterNotFoundAction", false},
			{"a kind of parameters", `"paramKind":{"apiVersion":"example.com/v1","kind":"None"},` + byApply("Object{}"),
				`"paramRef":{"name":"none","parameterNotFoundAction":"Deny"}`, 403, metav1.StatusReasonForbidden,
				`policy "p" denied request: failed to configure policy: failed to find resource referenced by paramKind: ` +
					"'example.com/v1, Kind=None'", false},
			{"an unknown field by a patch", byPatch(`[JSONPatch{op: "add", path: "/spec", value: 1}]`), "", 500,
				metav1.StatusReasonInternalError, `Internal error occurred: strict decoding error: unknown field "spec"`, true},
		} {
			mutateBy(t, w, "p", "configmaps", c.policy, c.binding)
			r := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
			var s metav1.Status
			r.into(t, &s)
			if r.code != c.code || s.Reason != c.reason || s.Message != c.want || s.Details == nil ||
				len(s.Details.Causes) != 1 || !c.fatal && s.Details.Causes[0].Message != c.want {
				t.Errorf("%s: got %d %s, want %d %s %q", c.name, r.code, r.body, c.code, c.reason, c.want)
			}
			repealMutating(t, w, "p")
			mutateBy(t, w, "p", "configmaps", `"failurePolicy":"Ignore",`+c.policy, c.binding)
			code := http.StatusCreated
			if c.fatal {
				code = c.code
			}
			w.send(t, http.MethodPost, configMaps+"?dryRun=All", `{"metadata":{"name":"a"}}`).want(t, code)
			repealMutating(t, w, "p")
		}
	})
}

// TestMutatingPolicyOrder checks that policies are called by name, and validated after: with the mutations of all.
func TestMutatingPolicyOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		add := func(text string) string {
			return byPatch(fmt.Sprintf(`[JSONPatch{op: "add", path: "/data/k", value: object.data.k + %q}]`, text))
		}
		mutateBy(t, w, "b", "configmaps", add("b"), "")
		mutateBy(t, w, "c", "configmaps", add("c"), "")
		mutateBy(t, w, "a", "configmaps", `"reinvocationPolicy":"IfNeeded",`+add("a"), "")
		enact(t, w, "p", validate("object.data.k == 'abca'"), "")
		w.create(t, configMaps, `{"metadata":{"name":"a"},"data":{"k":""}}`)
		w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"b"},"data":{"k":"x"}}`).wantError(t,
			http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "failed expression: object.data.k == 'abca'")
	})
}

// TestRestartUnderMutatingPolicyThatFails checks that a server starts although a policy rejects every write, and that
// the policy can then be deleted.
func TestRestartUnderMutatingPolicyThatFails(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	w := start(t, storedIn(journal))
	mutateBy(t, w, "p", "*/*", byApply("Object{metadata: object.none}"), "")
	w = w.restart(t, journal)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t, http.StatusForbidden,
		metav1.StatusReasonInvalid, "denied request: expression")
	repealMutating(t, w, "p")
	w.createConfigMaps(t, "default", "a")
}

// TestMutatedObjectIsBounded checks that 50 policies that all grow an object end at the limit of what a write may cost,
// or of what an object may have, and not with a server that ran out of memory. Smaller writes go on.
func TestMutatedObjectIsBounded(t *testing.T) {
	t.Parallel()
	w := start(t)
	for i := range 50 {
		mutateBy(t, w, fmt.Sprintf("p%02d", i), "configmaps", `"failurePolicy":"Ignore","reinvocationPolicy":"IfNeeded",`+
			byPatch(fmt.Sprintf(`[JSONPatch{op: "copy", from: "/data/k", path: "/data/x%d"}]`, i)), "")
	}
	body := `{"metadata":{"name":"a"},"data":{"k":"` + strings.Repeat("x", 900_000) + `"}}`
	if r := w.send(t, http.MethodPost, configMaps, body); r.code/100 == 2 {
		t.Errorf("got %d, want a rejection", r.code)
	}
	w.create(t, configMaps, `{"metadata":{"name":"b"},"data":{"k":"x"}}`)
}

// TestMutatingPolicyAndWebhook checks that a policy is called before the webhooks, and again for what a webhook has
// changed, and that the webhook is called again for what the policy then changed.
func TestMutatingPolicyAndWebhook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ policy, hook, seen, calls string }{
		{"Never", "Never", "", "1"}, {"IfNeeded", "Never", "hook", "1"},
		{"Never", "IfNeeded", "", "1"}, {"IfNeeded", "IfNeeded", "hook", "2"},
	} {
		t.Run(c.policy+" "+c.hook, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			g := startWebhook(t, patched(`[{"op":"add","path":"/data/k","value":"hook"}]`))
			registerWebhook(t, w, mutatingPath, "hook", g, `"reinvocationPolicy":"`+c.hook+
				`","rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]`)
			mutateBy(t, w, "p", "configmaps", `"reinvocationPolicy":"`+c.policy+`",`+
				byPatch(`[JSONPatch{op: "add", path: "/data/seen", value: object.data.k}]`), "")
			obj := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"x"},"data":{"k":""}}`).want(t,
				http.StatusCreated).object(t)
			seen, k := valueAt(obj, "data", "seen"), valueAt(obj, "data", "k")
			if calls := fmt.Sprint(len(g.requests())); seen != c.seen || k != "hook" || calls != c.calls {
				t.Errorf("got seen %q, k %q and %s calls, want %q, %q and %s", seen, k, calls, c.seen, "hook", c.calls)
			}
		})
	}
}
