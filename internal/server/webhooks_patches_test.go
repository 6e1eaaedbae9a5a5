package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An object that a webhook patched is validated as any other, and not stored if it is invalid, whatever the
// failure policy.
func TestWebhookPatchIsValidated(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		patch  string
		code   int
		reason metav1.StatusReason
		text   string
	}{
		"invalid": {`{"op":"add","path":"/spec/containers/0/image","value":""}`,
			http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.containers[0].image: Required value"},
		"a name that is taken in it": {`{"op":"add","path":"/spec/containers/-","value":{"name":"a","image":"i"}}`,
			http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			`spec.containers[1].name: Duplicate value: "a"`},
		"unreadable": {`{"op":"replace","path":"/spec","value":"none"}`, http.StatusInternalServerError,
			metav1.StatusReasonInternalError, "cannot unmarshal string"},
		"another kind": {`{"op":"replace","path":"/kind","value":"Secret"}`, http.StatusInternalServerError,
			metav1.StatusReasonInternalError, "the patch changed the kind from /v1, Kind=Pod to /v1, Kind=Secret"},
		"not applicable": {`{"op":"remove","path":"/spec/nowhere"}`, http.StatusInternalServerError,
			metav1.StatusReasonInternalError, "nowhere"},
		"a failed test": {`{"op":"test","path":"/spec/restartPolicy","value":"Never"}`,
			http.StatusInternalServerError, metav1.StatusReasonInternalError, ""},
		"another namespace": {`{"op":"replace","path":"/metadata/namespace","value":"kube-system"}`,
			http.StatusBadRequest, metav1.StatusReasonBadRequest,
			"the namespace of the provided object does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			registerWebhook(t, w, mutatingPath, "bad", startWebhook(t, patched(`[`+s.patch+`]`)),
				`"failurePolicy":"Ignore","rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]`)
			w.send(t, http.MethodPost, podsPath,
				`{"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"i"}]}}`).wantError(t, s.code,
				s.reason, s.text)
			w.get(t, podsPath+"/p").want(t, http.StatusNotFound)
		})
	}
}

// Patches of webhooks have the same limits as those of clients. One that doubles the object repeatedly, or
// that makes no sense, only rejects the write.
func TestWebhookPatchLimits(t *testing.T) {
	t.Parallel()
	copies := make([]string, 40)
	for i := range copies {
		copies[i] = fmt.Sprintf(`{"op":"copy","from":"/data","path":"/data/k%d"}`, i)
	}
	deep := strings.Repeat("/a", 300)
	for name, c := range map[string]struct{ patch, text string }{
		"doubles":           {strings.Join(copies, ","), "the copy operations of the JSON patch enlarge"},
		"goes down":         {`{"op":"add","path":"/data` + deep + `","value":"x"}`, "doc is missing path"},
		"makes no sense":    {`{"op":"test","path":""}`, ""},
		"tests the nothing": {`{"op":"test","path":"/data","value":null}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			registerWebhook(t, w, mutatingPath, "bad", startWebhook(t, patched(`[`+c.patch+`]`)), "")
			w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`).
				wantError(t, http.StatusInternalServerError, metav1.StatusReasonInternalError, c.text)
			w.get(t, configMaps+"/a").want(t, http.StatusNotFound)
		})
	}
}

// The server sets its own metadata of a new object, whatever a webhook sets. Mutating webhooks do not see
// these values yet; validating ones see the object as it will be stored.
func TestWebhookCannotSetServerMetadata(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := startWebhook(t,
		patched(`[{"op":"add","path":"/metadata/uid","value":"mine"},{"op":"add","path":"/metadata/creationTimestamp","value":"1999-01-01T00:00:00Z"},
		{"op":"add","path":"/metadata/deletionTimestamp","value":"1999-01-01T00:00:00Z"},{"op":"add","path":"/metadata/unknown","value":"dropped"}]`))
	seen := startWebhook(t, nil)
	registerWebhook(t, w, mutatingPath, "own", g, "")
	registerWebhook(t, w, validatingPath, "seen", seen, "")
	obj := w.send(t, http.MethodPost, configMaps, `{"metadata":{"generateName":"a-"}}`).want(t,
		http.StatusCreated).object(t)
	meta := valueAt(obj, "metadata").(map[string]any)
	if meta["uid"] == "mine" || meta["creationTimestamp"] == "1999-01-01T00:00:00Z" ||
		meta["deletionTimestamp"] != nil || meta["unknown"] != nil {
		t.Errorf("%v", meta)
	}
	var before, after map[string]any
	for raw, into := range map[*[]byte]*map[string]any{&g.last().Object.Raw: &before, &seen.last().Object.Raw: &after} {
		if err := json.Unmarshal(*raw, into); err != nil {
			t.Fatal(err)
		}
	}
	if valueAt(before, "metadata", "uid") != nil || valueAt(before, "metadata", "name") != nil || g.last().Name != "" {
		t.Errorf("the mutating webhook saw %v", before)
	}
	if valueAt(after, "metadata", "uid") != meta["uid"] || seen.last().Name != meta["name"] {
		t.Errorf("the validating webhook saw %v", after)
	}
}

// A webhook may replace a generated name. If its name exists, the create fails, and no other name is
// generated.
func TestWebhookReplacesGeneratedName(t *testing.T) {
	t.Parallel()
	w := start(t)
	registerWebhook(t, w, mutatingPath, "names",
		startWebhook(t, patched(`[{"op":"add","path":"/metadata/name","value":"named"}]`)), `"rules":[
		{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]`)
	obj := w.send(t, http.MethodPost, configMaps, `{"metadata":{"generateName":"a-"}}`).want(t,
		http.StatusCreated).object(t)
	if valueAt(obj, "metadata", "name") != "named" {
		t.Errorf("%v", obj)
	}
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"generateName":"a-"}}`).wantError(t, http.StatusConflict,
		metav1.StatusReasonAlreadyExists, `configmaps "named" already exists`)
	w.send(t, http.MethodPatch, configMaps+"/other?fieldManager=me", `{"apiVersion":"v1","kind":"ConfigMap"}`,
		"Content-Type", applyType).
		wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest, "does not match the name on the URL")
}

// A webhook cannot change immutable metadata in an update, and cannot patch a delete.
func TestWebhookCannotChangeImmutableMetadata(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	registerWebhook(t, w, mutatingPath, "renames",
		startWebhook(t, patched(`[{"op":"replace","path":"/metadata/name","value":"b"}]`)), "")
	const patch = `{"data":{"k":"v"}}`
	w.send(t, http.MethodPatch, configMaps+"/a", patch, "Content-Type", mergeType).wantError(t,
		http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "metadata.name: Invalid value")
	w.send(t, http.MethodDelete, configMaps+"/a", "").wantError(t, http.StatusInternalServerError,
		metav1.StatusReasonInternalError,
		`admission webhook "renames.example.com" attempted to modify the object, which is not supported for this operation`)
	w.send(t, http.MethodDelete, mutatingPath+"/renames", "").want(t, http.StatusOK)
	registerWebhook(t, w, mutatingPath, "owns",
		startWebhook(t, patched(`[{"op":"replace","path":"/metadata/uid","value":"mine"}]`)), "")
	w.send(t, http.MethodPatch, configMaps+"/a", patch, "Content-Type", mergeType).wantError(t,
		http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "metadata.uid: Invalid value")
}

// If a write conflicts and is retried, the webhook is called again with the new state.
func TestWebhookIsCalledAgainAfterConflict(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	once := make(chan bool, 1)
	once <- true
	g := startWebhook(t, func(r *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
		select {
		case <-once: // another write commits during the call
			other := w.send(t, http.MethodPatch, configMaps+"/a", `{"data":{"other":"x"}}`, "Content-Type", mergeType)
			if other.code != http.StatusOK {
				t.Errorf("the other write was answered %d: %s", other.code, other.body)
			}
		default:
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	})
	registerWebhook(t, w, mutatingPath, "slow", g, "")
	obj := w.send(t, http.MethodPatch, configMaps+"/a", `{"data":{"mine":"y"}}`, "Content-Type", mergeType).want(t,
		http.StatusOK).object(t)
	if got := fmt.Sprint(valueAt(obj, "data")); got != "map[mine:y other:x]" || len(g.requests()) != 3 {
		t.Errorf("%s after %d calls, want 3: one for each writer and one for the retry", got, len(g.requests()))
	}
}
