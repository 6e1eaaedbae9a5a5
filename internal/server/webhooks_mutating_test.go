package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// patched answers with a JSON patch.
func patched(patch string) func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
	return func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(patch),
			PatchType: new(admissionv1.PatchTypeJSONPatch)}
	}
}

// patchedBy answers with a patch that a function derives from the object.
func patchedBy(
	patch func(u *unstructured.Unstructured) string,
) func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
	return func(r *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(r.Request.Object.Raw, &u.Object); err != nil {
			panic(err)
		}
		return patched(patch(u))(r)
	}
}

// A webhook adds a sidecar to a pod with one container. The sidecar gets the defaults of containers before
// the pod is stored, and the other plugins run again for the changed pod.
func TestWebhookInjectsSidecar(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startWebhook(t, patched(`[{"op":"add","path":"/spec/containers/-","value":{"name":"envoy","image":"envoy"}},
		{"op":"add","path":"/spec/tolerations","value":[{"key":"mine","operator":"Exists"}]}]`))
	registerWebhook(t, w, mutatingPath, "sidecar", g,
		`"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]`)
	pods := "/api/v1/namespaces/default/pods"
	pod := w.send(t, http.MethodPost, pods,
		`{"metadata":{"name":"myapp-pod"},"spec":{"containers":[{"name":"myapp","image":"busybox"}]}}`).want(t,
		http.StatusCreated).object(t)
	containers := valueAt(pod, "spec", "containers").([]any)
	if len(containers) != 2 || valueAt(containers[1].(map[string]any), "imagePullPolicy") != "Always" {
		t.Errorf("containers %v", containers)
	}
	if n := len(valueAt(pod, "spec", "tolerations").([]any)); n != 3 {
		t.Errorf("%d tolerations, want 3: the defaults are added again after the webhook replaced them", n)
	}
	if got := strings.Join(g.requests(), ", "); got != "CREATE pods/ myapp-pod" {
		t.Errorf("the reviews are %s", got)
	}
}

// Mutating webhooks are called one after the other, in the order of their names. Each receives the changes of
// those before it, and validating webhooks the final object.
func TestMutatingWebhooksAreCalledInNameOrder(t *testing.T) {
	t.Parallel()
	w := start(t)
	add := func(letter string) *webhook {
		return startWebhook(t, patchedBy(func(u *unstructured.Unstructured) string {
			data, _, _ := unstructured.NestedString(u.Object, "data", "seen")
			return `[{"op":"add","path":"/data/seen","value":"` + data + letter + `"}]`
		}))
	}
	for _, name := range []string{"b", "c", "a"} {
		registerWebhook(t, w, mutatingPath, name, add(name), "")
	}
	seen := startWebhook(t, nil)
	registerWebhook(t, w, validatingPath, "v", seen, "")
	obj := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"x"},"data":{"seen":"-"}}`).want(t,
		http.StatusCreated).object(t)
	if got := valueAt(obj, "data", "seen"); got != "-abc" ||
		!strings.Contains(string(seen.last().Object.Raw), `"seen":"-abc"`) {
		t.Errorf("%v; the validating webhook saw %s", got, seen.last().Object.Raw)
	}
}

// A webhook with the reinvocation policy IfNeeded is called once more if another one changed the object after
// it, but not for its own changes.
func TestReinvocation(t *testing.T) {
	t.Parallel()
	w := start(t)
	count := func(key string) *webhook {
		return startWebhook(t, patchedBy(func(u *unstructured.Unstructured) string {
			data, _, _ := unstructured.NestedString(u.Object, "data", key)
			return `[{"op":"add","path":"/data/` + key + `","value":"` + data + `i"}]`
		}))
	}
	policy := `"reinvocationPolicy":"IfNeeded"`
	made := func(name string) string {
		obj := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"`+name+`"},"data":{"k":"v"}}`).want(t,
			http.StatusCreated).object(t)
		data := valueAt(obj, "data").(map[string]any)
		return fmt.Sprint(data["a"], " ", data["b"], " ", data["c"])
	}
	registerWebhook(t, w, mutatingPath, "c", count("c"), policy)
	if got := made("alone"); got != "<nil> <nil> i" {
		t.Errorf("%s, want no reinvocation of c", got)
	}
	registerWebhook(t, w, mutatingPath, "a", count("a"), policy)
	registerWebhook(t, w, mutatingPath, "b", count("b"), "")
	if got := made("three"); got != "ii i ii" {
		t.Errorf("%s, want ii i ii: a and c are reinvoked after changes by others; b has no reinvocation policy", got)
	}
}

// A patch that changes nothing, such as empty labels or another notation of a quantity, causes no second call
// of other webhooks.
func TestNoOpPatchCausesNoReinvocation(t *testing.T) {
	t.Parallel()
	w := start(t)
	rules := `"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]`
	first := startWebhook(t, nil)
	registerWebhook(t, w, mutatingPath, "a", first, rules+`,"reinvocationPolicy":"IfNeeded"`)
	second := startWebhook(t,
		patched(`[{"op":"replace","path":"/spec/containers/0/resources/requests/cpu","value":"1"}]`))
	registerWebhook(t, w, mutatingPath, "b", second, rules)
	w.send(t, http.MethodPost, podsPath, `{"metadata":{"name":"p","labels":{},"annotations":{}},"spec":{"containers":[
		{"name":"c","image":"i","env":[],"resources":{"requests":{"cpu":"1000m"}}}]}}`).want(t, http.StatusCreated)
	if n := len(first.requests()); n != 1 {
		t.Errorf("the webhook was called %d times", n)
	}
}

// Webhooks can patch custom resources: unknown fields are pruned, and invalid values rejected.
func TestWebhookPatchesCustomResource(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	g := startWebhook(t, patched(`[{"op":"add","path":"/metadata/labels","value":{"by":"the-webhook"}}]`))
	registerWebhook(t, w, mutatingPath, "widgets", g,
		`"rules":[{"operations":["CREATE"],"apiGroups":["example.com"],"apiVersions":["*"],"resources":["*"]}]`)
	if got := valueAt(w.create(t, widgetsPath, widget("w", `{}`)), "metadata", "labels", "by"); got != "the-webhook" {
		t.Errorf("the label is %v", got)
	}
}

// With the match policy Equivalent, a webhook for another version of a resource receives the object in that
// version, and its patch is converted back.
func TestWebhookMatchPolicyEquivalent(t *testing.T) {
	t.Parallel()
	w := start(t)
	h := startConversionWebhook(t)
	w.send(t, http.MethodPost, definitionsPath, string(must(json.Marshal(h.lamps(t)))(t))).want(t, http.StatusCreated)
	rules := `"rules":[{"operations":["CREATE"],"apiGroups":["example.com"],"apiVersions":["v2"],"resources":["lamps"]}]`
	g := startWebhook(t, patched(`[{"op":"replace","path":"/spec/paint","value":"blue"}]`))
	registerWebhook(t, w, mutatingPath, "lamps", g, rules)
	exact := startWebhook(t, deny("never asked"))
	registerWebhook(t, w, validatingPath, "exact", exact, rules+`,"matchPolicy":"Exact"`)
	lamp := w.send(t, http.MethodPost, lampsV1,
		`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a"},"spec":{"color":"red"}}`).want(t,
		http.StatusCreated).object(t)
	if valueAt(lamp, "spec", "color") != "blue" || valueAt(lamp, "apiVersion") != "example.com/v1" {
		t.Errorf("%v", lamp)
	}
	if r := g.last(); r.Kind.Version != "v2" || r.RequestKind.Version != "v1" ||
		!strings.Contains(string(r.Object.Raw), `"paint":"red"`) {
		t.Errorf("the review has kind %+v and object %s", r.Kind, r.Object.Raw)
	}
}

// For the subresource scale, a webhook receives the Scale and may change it.
func TestWebhookPatchesScale(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.send(t, http.MethodPost, deployments,
		`{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`).want(t, http.StatusCreated)
	g := startWebhook(t, patched(`[{"op":"replace","path":"/spec/replicas","value":5}]`))
	registerWebhook(t, w, mutatingPath, "scale", g,
		`"rules":[{"operations":["UPDATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments/scale"]}]`)
	scale := w.send(t, http.MethodPatch, deployments+"/d/scale", `{"spec":{"replicas":3}}`, "Content-Type",
		mergeType).want(t, http.StatusOK).object(t)
	if valueAt(scale, "spec", "replicas") != 5.0 ||
		valueAt(w.get(t, deployments+"/d").object(t), "spec", "replicas") != 5.0 {
		t.Errorf("%v", scale)
	}
	if r := g.last(); r.Kind.Kind != "Scale" || !strings.Contains(string(r.Object.Raw), `"kind":"Scale"`) {
		t.Errorf("the review has kind %s: %s", r.Kind.Kind, r.Object.Raw)
	}
}

// Each warning of a webhook is sent to the client once, also with a rejection.
func TestWebhookWarnings(t *testing.T) {
	t.Parallel()
	w := start(t)
	warning := func(allowed bool, texts ...string) *webhook {
		return startWebhook(t, func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: allowed, Warnings: texts}
		})
	}
	registerWebhook(t, w, validatingPath, "a", warning(true, "old", "old"), "")
	registerWebhook(t, w, validatingPath, "b", warning(false, "older"),
		`"matchConditions":[{"name":"b","expression":"object.metadata.name == 'b'"}]`)
	r := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
	if got := r.header.Values("Warning"); !slices.Equal(got, []string{`299 - "old"`}) {
		t.Errorf("%q", got)
	}
	r = w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"b"}}`)
	r.wantError(t, http.StatusBadRequest, "",
		`admission webhook "b.example.com" denied the request without explanation`)
	if got := r.header.Values("Warning"); !slices.Equal(got, []string{`299 - "old"`, `299 - "older"`}) {
		t.Errorf("%q", got)
	}
}

// A webhook that has side effects is not called for a dry run.
func TestDryRunRejectedByWebhookWithSideEffects(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startWebhook(t, nil)
	hook := `{"metadata":{"name":"old"},"webhooks":[{"name":"old.example.com","clientConfig":` + g.client() +
		`,"rules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}]}`
	w.send(t, http.MethodPost, strings.Replace(mutatingPath, "/v1/", "/v1beta1/", 1), hook).want(t, http.StatusCreated)
	w.send(t, http.MethodPost, configMaps+"?dryRun=All", `{"metadata":{"name":"a"}}`).wantError(t,
		http.StatusBadRequest,
		metav1.StatusReasonBadRequest, `admission webhook "old.example.com" does not support dry run`)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
	if got := strings.Join(g.requests(), ", "); got != "CREATE configmaps/ a" {
		t.Errorf("the reviews are %s", got)
	}
}

// Webhooks are called with the first version of reviews that both they and the server support. An answer of
// v1beta1 need not have a kind, uid or patch type.
func TestAdmissionReviewV1beta1(t *testing.T) {
	t.Parallel()
	w := start(t)
	versions := `"admissionReviewVersions":["v9","v1beta1","v1"]`
	reviews := make(chan string, 1)
	registerWebhook(t, w, mutatingPath, "old",
		startRawWebhook(t,
			respond(`{"response":{"allowed":true,"patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEiLCJ2YWx1ZSI6eyJhIjoiYiJ9fV0="}}`)), versions)
	registerWebhook(t, w, validatingPath, "old",
		startWebhook(t, func(r *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
			reviews <- r.APIVersion
			return &admissionv1.AdmissionResponse{Allowed: true}
		}), versions)
	obj := w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated).object(t)
	if valueAt(obj, "data", "a") != "b" {
		t.Errorf("%v: the patch is missing", obj)
	}
	if got := <-reviews; got != "admission.k8s.io/v1beta1" {
		t.Errorf("asked in %s", got)
	}
}
