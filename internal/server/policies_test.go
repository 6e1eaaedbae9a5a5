package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
)

const (
	policiesPath = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	bindingsPath = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
)

// specOf returns a spec in which the members of change, a JSON object without braces, replace those of base.
func specOf(t testing.TB, base, change string) string {
	t.Helper()
	spec := map[string]any{}
	for _, text := range []string{base, change} {
		if err := json.Unmarshal([]byte("{"+text+"}"), &spec); err != nil {
			t.Fatal(err, text)
		}
	}
	return string(must(json.Marshal(spec))(t))
}

// enact creates a policy for all writes of config maps and a binding that denies, whose specs the changes modify.
func enact(t testing.TB, w *testPlane, name, policyChange, bindingChange string) {
	t.Helper()
	policy := specOf(t, `"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
		"resources":["configmaps"]}]}`, policyChange)
	binding := specOf(t, `"policyName":"`+name+`","validationActions":["Deny"]`, bindingChange)
	w.create(t, policiesPath, `{"metadata":{"name":"`+name+`"},"spec":`+policy+`}`)
	w.create(t, bindingsPath, `{"metadata":{"name":"`+name+`"},"spec":`+binding+`}`)
}

func repeal(t testing.TB, w *testPlane, name string) {
	t.Helper()
	for _, path := range []string{policiesPath, bindingsPath} {
		w.send(t, http.MethodDelete, path+"/"+name, "").want(t, http.StatusOK)
	}
}

// validate returns the validations of a policy, each an expression, as a member of a spec.
func validate(expressions ...string) string {
	var all []string
	for _, e := range expressions {
		all = append(all, fmt.Sprintf(`{"expression":%q}`, e))
	}
	return `"validations":[` + strings.Join(all, ",") + `]`
}

// policyCase is a write under a policy p with a binding p.
type policyCase struct {
	name, policy, binding string
	method, path, body    string // a create of the config map a, where empty
	code                  int    // 0 if the write is allowed
	reason                metav1.StatusReason
	// want is the message after "denied request: ", and warning the one of the answer, after "binding 'p': ".
	want, warning string
}

// checkPolicyCases creates the policy of each case, sends its write as a dry run and then for real, checks the
// answers and removes what was created.
func checkPolicyCases(t *testing.T, w *testPlane, cases []policyCase) {
	t.Helper()
	for _, c := range cases {
		method, path, body := c.method, c.path, c.body
		if method == "" {
			method = http.MethodPost
		}
		if path == "" {
			path = configMaps
		}
		if body == "" && method == http.MethodPost {
			body = `{"metadata":{"name":"a"}}`
		}
		var headers []string
		if method == http.MethodPatch {
			headers = []string{"Content-Type", mergeType}
		}
		enact(t, w, "p", c.policy, c.binding)
		for _, query := range []string{"?dryRun=All", ""} {
			r := w.send(t, method, path+query, body, headers...)
			if c.code == 0 {
				if r.code/100 != 2 {
					t.Errorf("%s: got %d, want success: %s", c.name, r.code, r.body)
				}
			} else {
				c.checkDenied(t, r)
			}
			var want []string
			if c.warning != "" {
				want = []string{`299 - "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': ` + c.warning + `"`}
			}
			got := slices.DeleteFunc(r.header.Values("Warning"), func(text string) bool {
				return strings.Contains(text, " is deprecated in ") // of the version
			})
			if !slices.Equal(got, want) {
				t.Errorf("%s: got warnings %q, want %q", c.name, got, want)
			}
		}
		repeal(t, w, "p")
		if c.code == 0 && method == http.MethodPost && !strings.Contains(strings.TrimPrefix(path, configMaps), "/") {
			w.send(t, http.MethodDelete, path+"/a", "").want(t, http.StatusOK)
		}
	}
}

// checkDenied compares an answer with the rejection of a case.
func (c *policyCase) checkDenied(t *testing.T, r response) {
	t.Helper()
	var s metav1.Status
	r.into(t, &s)
	by := "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: "
	if strings.HasPrefix(c.want, "failed to configure policy: ") {
		by = "ValidatingAdmissionPolicy 'p' denied request: "
	}
	reason := c.reason
	if reason == "" {
		reason = metav1.StatusReasonInvalid
	}
	if r.code != c.code || s.Reason != reason || s.Details == nil || len(s.Details.Causes) != 1 ||
		s.Details.Causes[0].Message != by+c.want || !strings.HasSuffix(s.Message, " is forbidden: "+by+c.want) {
		t.Errorf("%s: got %d %s, want %d %s %q", c.name, r.code, r.body, c.code, reason, by+c.want)
	}
}

// TestPolicyAnswers checks the codes, reasons, messages and warnings of violated policies.
func TestPolicyAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		validation := func(members string) string { return `"validations":[{"expression":"1 > 2",` + members + `}]` }
		const expression = "failed expression: 1 > 2"
		checkPolicyCases(t, w, []policyCase{
			{name: "an expression", policy: validate(" 1 > 2 "), code: 422, want: expression},
			{name: "true", policy: validate("true", "1 < 2")},
			{name: "the first of several", policy: validate("true", "1 > 2", "2 > 3"), code: 422, want: expression},
			{name: "a message", policy: validation(`"message":" no "`), code: 422, want: "no"},
			{name: "a messageExpression", policy: validation(`"message":"no","messageExpression":"'no ' + object.metadata.name"`),
				code: 422, want: "no a"},
			{name: "a failing messageExpression", policy: validation(`"message":"no","messageExpression":"string(object.spec)"`),
				code: 422, want: "no"},
			{name: "a blank messageExpression", policy: validation(`"messageExpression":"'  '"`), code: 422, want: expression},
			{name: "lines in a messageExpression", policy: validation(`"messageExpression":"'a\\nb'"`), code: 422,
				want: expression},
			{name: "a long messageExpression", policy: validation(`"message":"no","messageExpression":"'` +
				strings.Repeat("x", 5<<10+1) + `'"`), code: 422, want: "no"},
			{name: "Forbidden", policy: validation(`"reason":"Forbidden"`), code: 403, reason: metav1.StatusReasonForbidden,
				want: expression},
			{name: "Invalid", policy: validation(`"reason":"Invalid"`), code: 422, want: expression},
			{name: "RequestEntityTooLarge", policy: validation(`"reason":"RequestEntityTooLarge"`), code: 413,
				reason: metav1.StatusReasonRequestEntityTooLarge, want: expression},
			{name: "Warn", policy: validation(`"message":"no"`), binding: `"validationActions":["Warn"]`, warning: "no"},
			{name: "Audit", policy: validation(`"message":"no"`), binding: `"validationActions":["Audit"]`},
			{name: "Warn and Audit", policy: validation(`"message":"no"`), binding: `"validationActions":["Warn","Audit"]`,
				warning: "no"},
			{name: "Deny and Audit", policy: validation(`"message":"no"`), binding: `"validationActions":["Deny","Audit"]`,
				code: 422, want: "no"},
			{name: "a failure", policy: validate("object.spec == 1"), code: 422,
				want: "expression 'object.spec == 1' resulted in error: no such key: spec"},
			{name: "an ignored failure", policy: `"failurePolicy":"Ignore",` + validate("object.spec == 1")},
			{name: "a violation beside an ignored failure", policy: `"failurePolicy":"Ignore",` +
				validate("object.spec == 1", "1 > 2"), code: 422, want: expression},
			{name: "a warning of a failure", policy: validate("object.spec == 1"), binding: `"validationActions":["Warn"]`,
				warning: "expression 'object.spec == 1' resulted in error: no such key: spec"},
			{name: "an audit annotation", policy: `"auditAnnotations":[{"key":"k","valueExpression":"'v'"},` +
				`{"key":"n","valueExpression":"null"},{"key":"e","valueExpression":"' '"}]`},
			{name: "a failing audit annotation", policy: `"auditAnnotations":[{"key":"k","valueExpression":"string(object.spec)"}]`,
				binding: `"validationActions":["Warn"]`, code: 422,
				want: "expression 'string(object.spec)' resulted in error: no such key: spec"},
			{name: "an ignored audit annotation", policy: `"failurePolicy":"Ignore",` +
				`"auditAnnotations":[{"key":"k","valueExpression":"string(object.spec)"}]`},
		})
	})
}

// TestPolicyVariables checks what expressions can refer to, on create, update and delete.
func TestPolicyVariables(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.createConfigMaps(t, "default", "stored")
		w.merge(t, "/api/v1/namespaces/default", `{"metadata":{"labels":{"team":"red"}}}`).want(t, http.StatusOK)
		variables := func(members string) string { return `"variables":[` + members + `],` }
		denied := func(text string) string { return "failed expression: " + text }
		allowed := func(name, expression string) policyCase {
			return policyCase{name: name, policy: validate(expression)}
		}
		update := func(c policyCase) policyCase {
			c.method, c.path, c.body = http.MethodPatch, configMaps+"/stored", `{"data":{"a":"b"}}`
			return c
		}
		deletion := policyCase{name: "a delete", method: http.MethodDelete, path: configMaps + "/stored",
			policy: validate("object == null && oldObject.metadata.name == 'stored' && request.operation == 'DELETE' && " +
				"request.options.kind == 'DeleteOptions'")}
		checkPolicyCases(t, w, []policyCase{
			allowed("a create", "object.metadata.name == 'a' && oldObject == null && request.operation == 'CREATE'"),
			allowed("the kind", "object.kind == 'ConfigMap' && object.apiVersion == 'v1'"),
			allowed("fields that are not set", "!has(object.data) && !has(object.metadata.labels)"),
			update(allowed("an update", "object.data.a == 'b' && (!has(oldObject.data) || oldObject.data.a == 'b')")),
			update(policyCase{name: "a violation by an update", policy: validate("object.data.a != 'b'"), code: 422,
				want: denied("object.data.a != 'b'")}),
			allowed("the request", "request.userInfo.username == 'bowline-admin' && 'system:masters' in "+
				"request.userInfo.groups && request.namespace == 'default' && request.name == 'a' && "+
				"request.kind == request.requestKind && request.resource.resource == 'configmaps' && "+
				"request.dryRun == (has(request.options.dryRun) && request.options.dryRun == ['All'])"),
			allowed("the namespace", "namespaceObject.metadata.name == 'default' && "+
				"namespaceObject.metadata.labels.team == 'red' && namespaceObject.status.phase == 'Active'"),
			allowed("the authorizer", "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()"+
				" && authorizer.requestResource.check('create').allowed()"),
			{name: "another's rights", policy: validate("authorizer.serviceAccount('default', 'x').group('')." +
				"resource('secrets').check('get').allowed()"), code: 422, want: denied("authorizer.serviceAccount('default'," +
				" 'x').group('').resource('secrets').check('get').allowed()")},
			{name: "a variable", policy: variables(`{"name":"n","expression":"object.metadata.name"},
				{"name":"twice","expression":"variables.n + variables.n"}`) + validate("variables.twice == 'aa'")},
			{name: "a variable in a message", policy: variables(`{"name":"n","expression":"object.metadata.name"}`) +
				`"validations":[{"expression":"false","messageExpression":"'not ' + variables.n"}]`, code: 422, want: "not a"},
			{name: "an unused variable that fails", policy: variables(`{"name":"n","expression":"object.spec"}`) +
				validate("true || variables.n == 1")},
			{name: "a variable that fails", policy: variables(`{"name":"n","expression":"object.spec"}`) +
				validate("variables.n == 1"), code: 422, want: "expression 'variables.n == 1' resulted in error: composited " +
				"variable \"n\" fails to evaluate: no such key: spec"},
			{name: "parameters that a binding does not set", policy: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},` +
				validate("params == null")},
			deletion,
		})
		w.createConfigMaps(t, "default", "stored")
		enact(t, w, "p", validate("oldObject.metadata.name == 'other'"), "")
		for _, path := range []string{configMaps + "/stored", configMaps} {
			r := w.send(t, http.MethodDelete, path, "")
			r.wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
				"ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed expression: oldObject.metadata.name")
		}
		w.get(t, configMaps+"/stored").want(t, http.StatusOK)
	})
}

// TestPolicyMatchConditions checks that conditions select the writes that a policy checks. As in Kubernetes, a
// false condition counts more than a failing one.
func TestPolicyMatchConditions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		conditions := func(expressions ...string) string {
			var all []string
			for i, e := range expressions {
				all = append(all, fmt.Sprintf(`{"name":"c%d","expression":%q}`, i, e))
			}
			return `"matchConditions":[` + strings.Join(all, ",") + `],` + validate("false")
		}
		const failed = "expression 'object.spec == 1' resulted in error: no such key: spec"
		checkPolicyCases(t, w, []policyCase{
			{name: "met", policy: conditions("true", "object.metadata.name == 'a'"), code: 422,
				want: "failed expression: false"},
			{name: "not met", policy: conditions("true", "object.metadata.name == 'b'")},
			{name: "a failure", policy: conditions("true", "object.spec == 1"), code: 422, want: failed},
			{name: "two failures", policy: conditions("object.spec == 1", "object.spec == 1 "), code: 422,
				want: "[" + failed + ", expression 'object.spec == 1 ' resulted in error: no such key: spec]"},
			{name: "a failure and false", policy: conditions("object.spec == 1", "false")},
			{name: "an ignored failure", policy: `"failurePolicy":"Ignore",` + conditions("object.spec == 1")},
			{name: "no namespace", policy: conditions("namespaceObject == null"), code: 422,
				want: "failed expression: false"},
		})
	})
}

// TestPolicyTakesEffectAtOnce checks that each change of a policy or binding applies to the next write.
func TestPolicyTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		write := func() int { return w.send(t, http.MethodPost, configMaps, `{"metadata":{"generateName":"a-"}}`).code }
		steps := []struct {
			method, path, body string
			want               int
		}{
			{http.MethodPatch, bindingsPath + "/p", `{"spec":{"validationActions":["Warn"]}}`, 201},
			{http.MethodPatch, bindingsPath + "/p", `{"spec":{"validationActions":["Deny"]}}`, 422},
			{http.MethodPatch, policiesPath + "/p", `{"spec":{"validations":[{"expression":"true"}]}}`, 201},
			{http.MethodPatch, policiesPath + "/p", `{"spec":{"validations":[{"expression":"false"}]}}`, 422},
			{http.MethodPatch, policiesPath + "/p", `{"metadata":{"labels":{"a":"b"}}}`, 422},
			{http.MethodPatch, policiesPath + "/p/status", `{"status":{"observedGeneration":1}}`, 422},
			{http.MethodDelete, bindingsPath + "/p", "", 201},
			{http.MethodPost, bindingsPath, `{"metadata":{"name":"q"},"spec":{"policyName":"p","validationActions":["Deny"]}}`,
				422},
			{http.MethodDelete, policiesPath + "/p", "", 201},
		}
		enact(t, w, "p", validate("false"), "")
		if code := write(); code != 422 {
			t.Errorf("after the create: got %d", code)
		}
		for i, s := range steps {
			var headers []string
			if s.method == http.MethodPatch {
				headers = []string{"Content-Type", mergeType}
			}
			if r := w.send(t, s.method, s.path, s.body, headers...); r.code/100 != 2 {
				t.Fatalf("step %d: %d %s", i, r.code, r.body)
			}
			if code := write(); code != s.want {
				t.Errorf("after step %d: got %d, want %d", i, code, s.want)
			}
		}
	})
}

// TestSeveralPolicies checks that the first policy by name rejects a write, and that all warn.
func TestSeveralPolicies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for _, name := range []string{"c", "a", "b"} {
			enact(t, w, name, validate("'"+name+"' == ''"), "")
			enact(t, w, "warn-"+name, validate("true", "'"+name+"' == ''", "'"+name+"' == ''"), `"validationActions":["Warn"]`)
		}
		r := w.send(t, http.MethodPost, configMaps, `{"metadata":{"generateName":"x-"}}`)
		status := r.wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			`" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'a' denied request: failed expression: 'a' == ''`)
		if !strings.HasPrefix(status.Details.Name, "x-") || status.Details.Kind != "configmaps" {
			t.Errorf("details %+v", status.Details)
		}
		if n := len(r.header.Values("Warning")); n != 3 {
			t.Errorf("got %d warnings, want one for each policy: %q", n, r.header.Values("Warning"))
		}
		w.create(t, bindingsPath, `{"metadata":{"name":"0"},"spec":{"policyName":"a","validationActions":["Deny"]}}`)
		w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"x"}}`).wantError(t, http.StatusUnprocessableEntity,
			metav1.StatusReasonInvalid, "ValidatingAdmissionPolicy 'a' with binding '0' denied request")
	})
}

// TestPolicyAuditIsTraced checks that audit annotations are recorded in the request's trace.
func TestPolicyAuditIsTraced(t *testing.T) {
	t.Parallel()
	w := startTraced(t, start)
	enact(t, w.testPlane, "p", validate("true", "1 == 2")+
		`,"auditAnnotations":[{"key":"name","valueExpression":"string(object.metadata.name)"}]`, `"validationActions":["Audit"]`)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
	attributes := map[string]string{}
	for _, s := range w.spans.Ended() {
		for _, a := range s.Attributes() {
			attributes[string(a.Key)] = a.Value.String()
		}
	}
	for key, want := range map[string]string{
		"p/name": "a",
		"validation.policy.admission.k8s.io/validation_failure": `[{"message":"failed expression: 1 == 2","policy":"p",` +
			`"binding":"p","expressionIndex":1,"validationActions":["Audit"]}]`,
	} {
		if got := attributes[key]; got != want {
			t.Errorf("%s: got %q, want %q, of %q", key, got, want, slices.Sorted(maps.Keys(attributes)))
		}
	}
}

// TestPoliciesCanBeTurnedOff checks that policies have no effect without the plugin.
func TestPoliciesCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(o *bowline.Options) { o.Admission = []string{"-ValidatingAdmissionPolicy"} })
		enact(t, w, "p", validate("false"), "")
		w.createConfigMaps(t, "default", "a")
	})
}
