package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const everyRule = `"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["pods","pods/*"]}]`

// Webhooks receive evictions and bindings as they are sent, not the resulting writes of the pod (in
// Kubernetes, pkg/registry/core/pod/storage).
func TestWebhooksReviewEvictions(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.create(t, podsPath, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	mutating, validating := startWebhook(t, nil), startWebhook(t, nil)
	registerWebhook(t, w, mutatingPath, "m", mutating, everyRule)
	registerWebhook(t, w, validatingPath, "v", validating, everyRule)
	binding := `{"metadata":{"name":"p","labels":{"app":"web"}},"target":{"kind":"Node","name":"n"}}`
	w.send(t, http.MethodPost, podsPath+"/p/binding", binding).want(t, http.StatusCreated)
	for _, g := range []*webhook{mutating, validating} {
		r := g.last()
		text := string(r.Object.Raw)
		whole := strings.Contains(text, `"target":{"kind":"Node","name":"n"}`) &&
			strings.Contains(text, `"kind":"Binding","apiVersion":"v1"`)
		if !whole || r.Kind.Kind != "Binding" || r.RequestKind.Kind != "Binding" || len(r.OldObject.Raw) > 0 {
			t.Errorf("the review has kind %v, object %s and old object %s", r.Kind, text, r.OldObject.Raw)
		}
	}
	w.send(t, http.MethodPost, podsPath+"/p/eviction?dryRun=All", evictionOf("p")).want(t, http.StatusCreated)
	evict(t, w, "p", "").want(t, http.StatusCreated)
	for _, g := range []*webhook{mutating, validating} {
		if got := strings.Join(g.requests(),
			", "); got != "CREATE pods/binding p, CREATE pods/eviction p, CREATE pods/eviction p" {
			t.Errorf("the reviews are %s", got)
		}
		r := g.last()
		whole := strings.Contains(string(r.Object.Raw), `"kind":"Eviction","apiVersion":"policy/v1"`)
		if !whole || r.Kind != metav1.GroupVersionKind(policyv1.SchemeGroupVersion.WithKind("Eviction")) ||
			r.Resource.Resource != "pods" || r.Namespace != "default" {
			t.Errorf("the review has kind %v of %v: %s", r.Kind, r.Resource, r.Object.Raw)
		}
	}
}

// Webhooks can reject evictions, and change their options.
func TestWebhooksDenyAndPatchEvictions(t *testing.T) {
	t.Parallel()
	w := start(t)
	createRunningPod(t, w, "p", "True")
	const (
		evictions = `"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/eviction"]}]`
		inSeven   = "request.requestKind.kind == 'Eviction' && object.deleteOptions.gracePeriodSeconds == 7"
	)
	registerWebhook(t, w, validatingPath, "v", startWebhook(t, deny("not now")),
		evictions+`,"matchConditions":[{"name":"kind","expression":"`+inSeven+`"}]`)
	seven := startWebhook(t, patched(`[{"op":"add","path":"/deleteOptions","value":{"gracePeriodSeconds":7}}]`))
	registerWebhook(t, w, mutatingPath, "m", seven, everyRule)
	evict(t, w, "p", "").wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden, "not now")
	w.send(t, http.MethodDelete, validatingPath+"/v", "").want(t, http.StatusOK)
	evict(t, w, "p", "").want(t, http.StatusCreated)
	if left := valueAt(w.get(t, podsPath+"/p").object(t), "metadata", "deletionGracePeriodSeconds"); left != 7.0 {
		t.Errorf("it has %v seconds", left)
	}
	w.send(t, http.MethodPost, podsPath+"/p/eviction", `{"metadata":{"name":"p","namespace":"other"}}`).
		wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest,
			"the namespace of the provided object does not match")
}

// An eviction in a terminating namespace is rejected with that cause.
func TestEvictionInTerminatingNamespace(t *testing.T) {
	t.Parallel()
	w := start(t)
	const pods = "/api/v1/namespaces/ends/pods"
	w.send(t, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"ends"}}`).want(t, http.StatusCreated)
	w.create(t, pods,
		`{"metadata":{"name":"p","finalizers":["example.com/hold"]},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	w.send(t, http.MethodDelete, "/api/v1/namespaces/ends", "").want(t, http.StatusOK)
	for _, act := range []string{"/eviction", "/binding"} {
		w.send(t, http.MethodPost, pods+"/p"+act, `{"metadata":{"name":"p"},"target":{"name":"n"}}`).
			wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden, "because it is being terminated")
	}
}

// A review has the options of the request as they were sent, without changes of the server.
func TestReviewHasOptionsOfRequest(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startWebhook(t, nil)
	registerWebhook(t, w, validatingPath, "all", g, "")
	for _, c := range []struct{ method, path, contentType, want string }{
		{http.MethodPost, configMaps, jsonType, `{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`},
		{http.MethodPut, configMaps + "/a?fieldValidation=Strict&fieldManager=me", jsonType,
			`{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"me","fieldValidation":"Strict"}`},
		{http.MethodPatch, configMaps + "/a?fieldValidation=Ignore", mergeType,
			`{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldValidation":"Ignore"}`},
	} {
		r := w.send(t, c.method, c.path, `{"metadata":{"name":"a"},"data":{"by":"`+c.method+`"}}`, "Content-Type",
			c.contentType)
		if r.code >= 300 {
			t.Fatalf("%s", r.body)
		}
		var got, want any
		raw := g.last().Options.Raw
		if err := errors.Join(json.Unmarshal(raw, &got), json.Unmarshal([]byte(c.want), &want)); err != nil ||
			jsonText(got) != jsonText(want) {
			t.Errorf("%s %s: options %s, want %s (%v)", c.method, c.path, raw, c.want, err)
		}
	}
}

func jsonText(v any) string {
	text, _ := json.Marshal(v) // decoded JSON can be encoded
	return string(text)
}
