package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A webhook is called for the objects that it selects, by the labels of the new and the old object and of the
// namespace.
func TestWebhookSelectors(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.send(t, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"guarded","labels":{"guard":"yes"}}}`).want(t,
		http.StatusCreated)
	byObject, byNamespace := startWebhook(t, nil), startWebhook(t, nil)
	registerWebhook(t, w, validatingPath, "object", byObject, `"objectSelector":{"matchLabels":{"app":"web"}}`)
	registerWebhook(t, w, validatingPath, "namespace", byNamespace,
		`"namespaceSelector":{"matchLabels":{"guard":"yes"}},"rules":[
		{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps","namespaces","nodes"]}]`)
	const guarded = "/api/v1/namespaces/guarded/configmaps"
	w.send(t, http.MethodPost, guarded, `{"metadata":{"name":"plain"}}`).want(t, http.StatusCreated)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"web","labels":{"app":"web"}}}`).want(t,
		http.StatusCreated)
	w.send(t, http.MethodPatch, configMaps+"/web", `{"metadata":{"labels":null}}`, "Content-Type", mergeType).want(t,
		http.StatusOK)
	w.send(t, http.MethodPatch, configMaps+"/web", `{"data":{"a":"b"}}`, "Content-Type", mergeType).want(t,
		http.StatusOK)
	// A namespaceSelector does not apply to cluster-scoped objects other than namespaces.
	w.send(t, http.MethodPost, "/api/v1/nodes", `{"metadata":{"name":"n"}}`).want(t, http.StatusCreated)
	w.send(t, http.MethodPatch, "/api/v1/namespaces/default", `{"metadata":{"labels":{"guard":"yes"}}}`, "Content-Type",
		mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodPatch, "/api/v1/namespaces/default", `{"metadata":{"labels":{"guard":null}}}`, "Content-Type",
		mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodDelete, configMaps+"/web", "").want(t, http.StatusOK)
	if got := strings.Join(byObject.requests(), ", "); got != "CREATE configmaps/ web, UPDATE configmaps/ web" {
		t.Errorf("by the object's labels: %s", got)
	}
	if got := strings.Join(byNamespace.requests(),
		", "); got != "CREATE configmaps/ plain, CREATE nodes/ n, UPDATE namespaces/ default" {
		t.Errorf("by the namespace's labels: %s", got)
	}
}

// Match conditions in CEL select the requests that a webhook reviews. If a condition cannot be evaluated, the
// write is rejected, or the webhook is skipped if its failure policy is Ignore.
func TestMatchConditions(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startWebhook(t, nil)
	registerWebhook(t, w, validatingPath, "v", g, `"matchConditions":[
		{"name":"not-by-system","expression":"!request.userInfo.username.startsWith('system:')"},
		{"name":"changed","expression":"object == null || oldObject == null || object.?data != oldObject.?data"},
		{"name":"labelled","expression":"object == null || object.metadata.labels['app'] == 'web'"}]`)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a","labels":{"app":"web"}}}`).want(t,
		http.StatusCreated)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"b","labels":{"app":"mail"}}}`).want(t,
		http.StatusCreated)
	w.send(t, http.MethodPatch, configMaps+"/a", `{"metadata":{"annotations":{"a":"b"}}}`, "Content-Type",
		mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodPatch, configMaps+"/a", `{"data":{"a":"b"}}`, "Content-Type", mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"c"}}`).wantError(t, http.StatusForbidden,
		metav1.StatusReasonForbidden, "no such key: labels")
	patchWebhook(t, w, validatingPath, "v", "failurePolicy", `"Ignore"`)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"c"}}`).want(t, http.StatusCreated)
	w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK)
	if got := strings.Join(g.requests(),
		", "); got != "CREATE configmaps/ a, UPDATE configmaps/ a, DELETE configmaps/ a" {
		t.Errorf("the reviews are %s", got)
	}
}

// Conditions see the kind of a subresource, as in Kubernetes.
func TestMatchConditionsSeeSubresourceKind(t *testing.T) {
	t.Parallel()
	w := start(t)
	deployment := strings.Replace(ownedDeployment, `"name":"d"`, `"name":"a"`, 1)
	w.send(t, http.MethodPost, deployments, deployment).want(t, http.StatusCreated)
	g := startWebhook(t, nil)
	const (
		scales  = `"rules":[{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments/scale"]}]`
		toThree = "request.requestKind.kind == 'Scale' && request.kind.group == 'autoscaling' && object.spec.replicas == 3"
	)
	registerWebhook(t, w, validatingPath, "v", g,
		scales+`,"matchConditions":[{"name":"scale","expression":"`+toThree+`"}]`)
	w.merge(t, deployments+"/a/scale", `{"spec":{"replicas":3}}`).want(t, http.StatusOK)
	if n := len(g.requests()); n != 1 {
		t.Errorf("the webhook was called %d times", n)
	}
}

// Conditions can check the permissions of the writer, or of a service account.
func TestMatchConditionsUseAuthorizer(t *testing.T) {
	t.Parallel()
	w := start(t)
	may, mayNot := startWebhook(t, nil), startWebhook(t, nil)
	condition := func(who string) string {
		return `"matchConditions":[{"name":"may","expression":"` + who +
			`.group('').resource('secrets').namespace('default').check('get').allowed()"}]`
	}
	registerWebhook(t, w, validatingPath, "writer", may, condition("authorizer"))
	registerWebhook(t, w, validatingPath, "account", mayNot,
		condition("authorizer.serviceAccount('default', 'nobody')"))
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
	if len(may.requests()) != 1 || len(mayNot.requests()) != 0 {
		t.Errorf("the webhook of the permitted user was called %d times, that of the other %d times, want 1 and 0",
			len(may.requests()),
			len(mayNot.requests()))
	}
}

// A dry run is only sent to webhooks without side effects, marked as a dry run, and rejected if there are
// others, whatever their failure policy.
func TestDryRunCallsWebhooksWithoutSideEffects(t *testing.T) {
	t.Parallel()
	w := start(t)
	for effects, text := range map[string]string{
		"None": "", "NoneOnDryRun": "", "Some": "does not support dry run", "Unknown": "does not support dry run",
	} {
		g, name := startWebhook(t, nil), strings.ToLower(effects)
		path := strings.Replace(validatingPath, "/v1/", "/v1beta1/", 1) // v1beta1 allows all four values
		registerWebhook(t, w, path, name, g, `"failurePolicy":"Ignore","sideEffects":"`+effects+`"`)
		r := w.send(t, http.MethodPost, configMaps+"?dryRun=All", `{"metadata":{"name":"a"}}`)
		if text == "" {
			r.want(t, http.StatusCreated)
			if len(g.requests()) != 1 || !*g.last().DryRun {
				t.Errorf("%s: the reviews are %q", effects, g.requests())
			}
		} else {
			r.wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest, text)
		}
		w.send(t, http.MethodDelete, path+"/"+name, "").want(t, http.StatusOK)
	}
	w.get(t, configMaps+"/a").want(t, http.StatusNotFound)
}
