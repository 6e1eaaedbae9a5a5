package server_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	validatingPath = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	mutatingPath   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
)

// webhook is an admission webhook with its own address.
type webhook struct {
	*httptest.Server
	// answer returns the response to a review; nil allows everything.
	answer func(r *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse
	// raw replaces answer if it is set. It receives the uid of the review.
	raw func(w http.ResponseWriter, r *http.Request, uid string)

	mu      sync.Mutex
	reviews []*admissionv1.AdmissionRequest
}

// startWebhook starts a webhook, which may only be changed before it is registered.
func startWebhook(t testing.TB, answer func(r *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse) *webhook {
	t.Helper()
	g := &webhook{answer: answer}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(g.serve))
	g.EnableHTTP2 = true
	g.StartTLS()
	t.Cleanup(g.Server.Close)
	return g
}

func (g *webhook) serve(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil || review.Request == nil {
		http.Error(w, fmt.Sprint("no review: ", err), http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	g.reviews = append(g.reviews, review.Request)
	g.mu.Unlock()
	if g.raw != nil {
		g.raw(w, r, string(review.Request.UID))
		return
	}
	response := &admissionv1.AdmissionResponse{Allowed: true}
	if g.answer != nil {
		response = g.answer(&review)
	}
	response.UID = review.Request.UID
	json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response})
}

// requests returns the reviews so far: operation, resource, subresource and name.
func (g *webhook) requests() (texts []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.reviews {
		texts = append(texts,
			strings.TrimRight(fmt.Sprintf("%s %s/%s %s", r.Operation, r.Resource.Resource, r.SubResource, r.Name), " "))
	}
	return texts
}

// last returns the latest request.
func (g *webhook) last() *admissionv1.AdmissionRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reviews[len(g.reviews)-1]
}

// client returns the clientConfig of the webhook.
func (g *webhook) client() string {
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
	text, _ := json.Marshal(map[string]any{"url": g.URL + "/review", "caBundle": bundle})
	return string(text)
}

// registerWebhook creates a configuration with one webhook for config maps; more replaces members of it.
func registerWebhook(t testing.TB, w *testPlane, path, name string, g *webhook, more string) {
	t.Helper()
	hook := map[string]any{}
	base := `{"name":"` + name + `.example.com","clientConfig":` + g.client() +
		`,"sideEffects":"None","admissionReviewVersions":["v1"],
		"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["configmaps"]}]}`
	for _, text := range []string{base, "{" + more + "}"} {
		if err := json.Unmarshal([]byte(text), &hook); err != nil {
			t.Fatal(err, text)
		}
	}
	body, _ := json.Marshal(map[string]any{"metadata": map[string]any{"name": name}, "webhooks": []any{hook}})
	w.send(t, http.MethodPost, path, string(body)).want(t, http.StatusCreated)
}

// deny rejects with a message.
func deny(message string) func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
	return func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: message, Code: http.StatusForbidden,
			Reason: metav1.StatusReasonForbidden}}
	}
}

// A validating webhook rejects creates, updates, patches and deletes from the creation of its configuration
// to its deletion. Refused writes are not stored, and it receives no other requests.
func TestValidatingWebhookDeniesWrites(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	g := startWebhook(t, deny("not on a Sunday"))
	registerWebhook(t, w, validatingPath, "sunday", g, "")
	const refusal = `admission webhook "sunday.example.com" denied the request: not on a Sunday`
	for _, s := range []struct{ method, path, body string }{
		{http.MethodPost, configMaps, `{"metadata":{"name":"b"}}`},
		{http.MethodPut, configMaps + "/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`},
		{http.MethodPatch, configMaps + "/a", `{"data":{"k":"v"}}`},
		{http.MethodDelete, configMaps + "/a", ""},
		{http.MethodDelete, configMaps, ""},
	} {
		var headers []string
		if s.method == http.MethodPatch {
			headers = []string{"Content-Type", mergeType}
		}
		w.send(t, s.method, s.path, s.body, headers...).wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
			refusal)
	}
	w.get(t, configMaps+"/b").want(t, http.StatusNotFound)
	if data := valueAt(w.get(t, configMaps+"/a").object(t), "data", "k"); data == "v" {
		t.Error("a rejected write was stored")
	}
	w.send(t, http.MethodPost, "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"}}`).want(t,
		http.StatusCreated)
	w.send(t, http.MethodDelete, validatingPath+"/sunday", "").want(t, http.StatusOK)
	w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK)
	want := "CREATE configmaps/ b, UPDATE configmaps/ a, UPDATE configmaps/ a, DELETE configmaps/ a, " +
		"DELETE configmaps/" // a deletecollection has no name
	if got := strings.Join(g.requests(), ", "); got != want {
		t.Errorf("the reviews are %s, want %s", got, want)
	}
}

// A review has the objects, the user and the version of the request.
func TestAdmissionReviewRequest(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startWebhook(t, nil)
	registerWebhook(t, w, validatingPath, "all", g, "")
	w.send(t, http.MethodPost, configMaps+"?dryRun=All&fieldManager=me",
		`{"metadata":{"name":"a"},"data":{"k":"v"}}`).want(t, http.StatusCreated)
	r := g.last()
	var obj, options map[string]any
	if err := json.Unmarshal(r.Object.Raw, &obj); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.Options.Raw, &options); err != nil {
		t.Fatal(err)
	}
	if valueAt(obj, "kind") != "ConfigMap" || valueAt(obj, "apiVersion") != "v1" || valueAt(obj, "data", "k") != "v" ||
		valueAt(obj, "metadata", "uid") == nil {
		t.Errorf("object %v", obj)
	}
	if valueAt(options, "kind") != "CreateOptions" || valueAt(options, "apiVersion") != "meta.k8s.io/v1" ||
		valueAt(options, "fieldManager") != "me" || !*r.DryRun {
		t.Errorf("options %v, dry run %v", options, *r.DryRun)
	}
	if len(r.OldObject.Raw) > 0 || r.Namespace != "default" || r.Kind.Kind != "ConfigMap" ||
		r.Resource.Version != "v1" ||
		r.RequestKind.Kind != "ConfigMap" || r.UserInfo.Username != "bowline-admin" {
		t.Errorf("%+v", r)
	}

	w.createConfigMaps(t, "default", "a")
	w.send(t, http.MethodDelete, configMaps+"/a?gracePeriodSeconds=7", "").want(t, http.StatusOK)
	r = g.last()
	if len(r.Object.Raw) > 0 || !strings.Contains(string(r.OldObject.Raw), `"name":"a"`) ||
		!strings.Contains(string(r.Options.Raw), `"gracePeriodSeconds":7`) {
		t.Errorf("of a delete: %s %s %s", r.Object.Raw, r.OldObject.Raw, r.Options.Raw)
	}
}

// Configurations of webhooks are not reviewed, so that a configuration that rejects everything can be
// deleted.
func TestWebhookConfigurationsAreNotReviewed(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startWebhook(t, deny("no"))
	all := `"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]}]`
	registerWebhook(t, w, validatingPath, "never", g, all)
	registerWebhook(t, w, mutatingPath, "never", g, all)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"b"}}`).wantError(t, http.StatusForbidden,
		metav1.StatusReasonForbidden, "no")
	for _, path := range []string{validatingPath, mutatingPath} {
		w.send(t, http.MethodPatch, path+"/never", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type",
			mergeType).want(t, http.StatusOK)
		w.send(t, http.MethodDelete, path+"/never", "").want(t, http.StatusOK)
	}
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"b"}}`).want(t, http.StatusCreated)
}
