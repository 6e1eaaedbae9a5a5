package server_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lampDefinition is a definition whose versions differ in everything that may differ: schema, defaults,
// status, scale, columns and selectable fields. Its webhook renames spec.color to spec.paint.
const lampDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Lamp, listKind: LampList, plural: lamps, singular: lamp}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns: [{name: Color, type: string, jsonPath: .spec.color}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              color: {type: string, enum: [blue, red]}
              watts: {type: integer, default: 40}
              count: {type: integer}
          status: {type: object, properties: {lit: {type: boolean}}}
  - name: v2
    served: true
    storage: false
    subresources: {scale: {specReplicasPath: .spec.count, statusReplicasPath: .status.count}}
    selectableFields: [{jsonPath: .spec.paint}]
    additionalPrinterColumns: [{name: Paint, type: string, jsonPath: .spec.paint}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              paint: {type: string, default: blue, maxLength: 4}
              watts: {type: integer}
              count: {type: integer}
          status: {type: object, properties: {lit: {type: boolean}, count: {type: integer}}}
`

const (
	lampsV1 = "/apis/example.com/v1/namespaces/default/lamps"
	lampsV2 = "/apis/example.com/v2/namespaces/default/lamps"
)

// conversionWebhook is a conversion webhook with its own address.
type conversionWebhook struct {
	*httptest.Server
	// calls counts the reviews, and objects the objects in them.
	calls, objects atomic.Int32
	// answer may replace the answer; nil converts correctly.
	answer func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter)
}

func startConversionWebhook(t *testing.T) *conversionWebhook {
	t.Helper()
	h := &conversionWebhook{}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	h.EnableHTTP2 = true
	h.StartTLS()
	t.Cleanup(h.Server.Close)
	return h
}

// lamps is the definition with that webhook.
func (h *conversionWebhook) lamps(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := definitionOf(t, lampDefinition)
	url := h.URL + "/convert"
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: bundle}
	return crd
}

func (h *conversionWebhook) serve(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil || review.Request == nil {
		http.Error(w, fmt.Sprint("no review: ", err), http.StatusBadRequest)
		return
	}
	h.calls.Add(1)
	h.objects.Add(int32(len(review.Request.Objects)))
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID,
		Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects,
			runtime.RawExtension{Object: repaint(raw.Raw, review.Request.DesiredAPIVersion)})
	}
	if h.answer != nil {
		h.answer(&review, w)
		return
	}
	json.NewEncoder(w).Encode(review)
}

// repaint converts a lamp.
func repaint(raw []byte, apiVersion string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		panic(err)
	}
	spec, _ := u.Object["spec"].(map[string]any)
	names := map[string]string{"example.com/v1": "color", "example.com/v2": "paint"}
	if value, ok := spec[names[u.GetAPIVersion()]]; ok {
		delete(spec, names[u.GetAPIVersion()])
		spec[names[apiVersion]] = value
	}
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["shown"] = strings.TrimPrefix(apiVersion, "example.com/")
	u.SetLabels(labels)
	u.SetAPIVersion(apiVersion)
	return u
}

func lamp(version, name, spec string) string {
	return `{"apiVersion":"example.com/` + version + `","kind":"Lamp","metadata":{"name":"` + name + `"},"spec":` +
		spec + `}`
}

// A request is decoded, defaulted, validated and answered in the version that it names, whatever the storage
// version is.
func TestVersionsHaveTheirOwnSchema(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	define(t, w, h.lamps(t))
	made := w.create(t, lampsV2, lamp("v2", "a", `{"count":2}`))
	if valueAt(made, "spec", "paint") != "blue" || valueAt(made, "spec", "color") != nil ||
		valueAt(made, "apiVersion") != "example.com/v2" {
		t.Errorf("created %v", made)
	}
	if valueAt(made, "spec", "watts") != 40.0 {
		t.Errorf("created %v, want the default of the version that it is stored in", made)
	}
	stored := w.get(t, lampsV1+"/a").want(t, http.StatusOK).object(t)
	if valueAt(stored, "spec", "color") != "blue" || valueAt(stored, "spec", "paint") != nil ||
		valueAt(stored, "metadata", "labels", "shown") != "v1" {
		t.Errorf("stored %v", stored)
	}
	w.send(t, http.MethodPost, lampsV2, lamp("v2", "b", `{"paint":"green"}`)).wantError(t,
		http.StatusUnprocessableEntity,
		metav1.StatusReasonInvalid, "spec.paint: Too long")
	w.send(t, http.MethodPost, lampsV1, lamp("v1", "b", `{"color":"gold"}`)).wantError(t,
		http.StatusUnprocessableEntity,
		metav1.StatusReasonInvalid, `spec.color: Unsupported value: "gold"`)
	w.create(t, lampsV2, lamp("v2", "b", `{"paint":"gold"}`)) // the enum is v1's
	w.send(t, http.MethodPatch, lampsV2+"/b", `{"spec":{"count":3}}`, "Content-Type", mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodPatch, lampsV1+"/b", `{"spec":{"color":"pink"}}`, "Content-Type", mergeType).wantError(t,
		http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.color")

	if size := valueAt(w.get(t, lampsV2+"/b/scale").want(t, http.StatusOK).object(t), "spec", "replicas"); size != 3.0 {
		t.Errorf("scaled to %v", size)
	}
	w.get(t, lampsV1+"/b/scale").want(t, http.StatusNotFound)
	w.get(t, lampsV2+"/b/status").want(t, http.StatusNotFound)
	w.send(t, http.MethodPatch, lampsV1+"/b/status", `{"status":{"lit":true}}`, "Content-Type", mergeType).want(t,
		http.StatusOK)
	both := w.send(t, http.MethodPatch, lampsV2+"/b", `{"status":{"lit":false,"count":1}}`, "Content-Type",
		mergeType).want(t, http.StatusOK).object(t)
	if valueAt(both, "status", "lit") != false || valueAt(both, "status", "count") != nil {
		t.Errorf("v2 has no status of its own, and v1 stores no count: %v", both["status"])
	}
	for path, want := range map[string]string{lampsV1: "Name Color", lampsV2: "Name Paint"} {
		var table metav1.Table
		w.get(t, path, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").want(t, http.StatusOK).into(t, &table)
		if got := table.ColumnDefinitions[0].Name + " " + table.ColumnDefinitions[1].Name; got != want ||
			table.Rows[1].Cells[1] != "gold" {
			t.Errorf("%s has the columns %s and the rows %v", path, got, table.Rows)
		}
	}
	var resources metav1.APIResourceList
	w.get(t, "/apis/example.com/v1").into(t, &resources)
	if len(resources.APIResources) != 2 || resources.APIResources[1].Name != "lamps/status" {
		t.Errorf("v1 has %v", resources.APIResources)
	}
}

// Selectors match the labels and fields of the requested version.
func TestSelectorsMatchRequestedVersion(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	define(t, w, h.lamps(t))
	w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
	w.create(t, lampsV1, lamp("v1", "b", `{"color":"blue"}`))
	for _, c := range []struct{ path, by, selector, want string }{
		{lampsV1, "fieldSelector", "spec.color=red", "a"},
		{lampsV2, "fieldSelector", "spec.paint=red", "a"},
		{lampsV2, "labelSelector", "shown=v2", "a b"},
		{lampsV2, "labelSelector", "shown=v1", ""},
		{lampsV1, "labelSelector", "shown", ""},
	} {
		if got := w.names(t, c.path, c.by, c.selector); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.path, c.selector, got, c.want)
		}
	}
	w.get(t, lampsV2+"?fieldSelector=spec.color%3Dred").wantError(t, http.StatusBadRequest,
		metav1.StatusReasonBadRequest,
		"field label not supported: spec.color")
	watch := must(w.dynamic.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v2",
		Resource: "lamps"}).Watch(t.Context(), metav1.ListOptions{FieldSelector: "spec.paint=red"}))(t)
	defer watch.Stop()
	w.send(t, http.MethodPatch, lampsV1+"/a", `{"spec":{"color":"blue"}}`, "Content-Type", mergeType).want(t,
		http.StatusOK)
	for _, want := range []string{"ADDED red", "DELETED red"} {
		e := <-watch.ResultChan()
		paint, _, _ := unstructured.NestedString(e.Object.(*unstructured.Unstructured).Object, "spec", "paint")
		if got := string(e.Type) + " " + paint; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A list converts all objects with one review, and the result is cached.
func TestListConvertsInOneReview(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	define(t, w, h.lamps(t))
	for i := range 20 {
		w.create(t, lampsV1, lamp("v1", fmt.Sprint("lamp-", i), `{"color":"red"}`))
	}
	if n := h.calls.Load(); n != 0 {
		t.Errorf("writes in the storage version called the webhook %d times, want 0", n)
	}
	for range 3 {
		w.get(t, lampsV2).want(t, http.StatusOK)
		w.get(t, lampsV2+"/lamp-3").want(t, http.StatusOK)
		w.get(t, lampsV2+"?labelSelector=shown%3Dv2").want(t, http.StatusOK)
	}
	if calls, objects := h.calls.Load(), h.objects.Load(); calls != 1 || objects != 20 {
		t.Errorf("%d reviews of %d objects, want 1 of 20", calls, objects)
	}
}

// After a change of the storage version, objects are served in both versions, and a write stores them in the
// new one.
func TestStorageVersionChange(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	define(t, w, h.lamps(t))
	w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
	path := definitionsPath + "/lamps.example.com"
	w.send(t, http.MethodPatch, path,
		`[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`,
		"Content-Type", jsonPatchType).want(t, http.StatusOK)
	drop := `[{"op":"remove","path":"/spec/versions/0"}]`
	w.send(t, http.MethodPatch, path, drop, "Content-Type", jsonPatchType).
		wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			`status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration`)
	before := w.get(t, lampsV2+"/a").want(t, http.StatusOK)
	if valueAt(before.object(t), "spec", "paint") != "red" {
		t.Errorf("read %s", before.body)
	}
	after := w.send(t, http.MethodPut, lampsV2+"/a", string(before.body)).want(t, http.StatusOK).object(t)
	if valueAt(after, "metadata", "resourceVersion") == valueAt(before.object(t), "metadata", "resourceVersion") {
		t.Error("an update without changes did not store the object in the new version")
	}
	calls := h.calls.Load()
	w.get(t, lampsV2+"/a").want(t, http.StatusOK)
	if h.calls.Load() != calls {
		t.Error("an object that is stored in v2 was converted to v2")
	}
	w.send(t, http.MethodPatch, path+"/status", `{"status":{"storedVersions":["v2"]}}`, "Content-Type",
		mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodPatch, path, drop, "Content-Type", jsonPatchType).want(t, http.StatusOK)
	w.get(t, lampsV1).want(t, http.StatusNotFound)
	w.get(t, lampsV2+"/a").want(t, http.StatusOK)
}
