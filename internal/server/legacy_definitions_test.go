package server_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const legacyPath = "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions"

// legacyLamps is a v1beta1 definition with everything that v1beta1 has and v1 expresses differently: schema,
// subresources and columns at the top level for all versions, JSONPath, and a webhook beside the strategy.
const legacyLamps = `{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","metadata":{"name":"lamps.example.com"},"spec":{
  "group":"example.com","scope":"Namespaced","version":"v1","names":{"kind":"Lamp","plural":"lamps"},"preserveUnknownFields":false,
  "versions":[{"name":"v1","served":true,"storage":true},{"name":"v2","served":true,"storage":false}],
  "conversion":{"strategy":"Webhook","webhookClientConfig":{"url":"URL","caBundle":"BUNDLE"}},
  "subresources":{"status":{}},
  "additionalPrinterColumns":[{"name":"Color","type":"string","JSONPath":".spec.color"}],
  "validation":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},"paint":{"type":"string"}}}}}}}}`

// A v1beta1 definition is served as written: its versions share the top-level fields, the webhook receives
// reviews of v1beta1, and reads in v1beta1 return the definition as it was sent.
func TestV1beta1DefinitionRoundTrips(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	reviews := make(chan string, 1)
	h.answer = func(r *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
		reviews <- r.APIVersion
		json.NewEncoder(w).Encode(r)
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	sent := strings.NewReplacer("URL", h.URL, "BUNDLE", base64.StdEncoding.EncodeToString(bundle)).Replace(legacyLamps)
	w.create(t, legacyPath, sent)

	w.create(t, lampsV1, lamp("v1", "a", `{"color":"red","unknown":1}`))
	got := w.get(t, lampsV2+"/a").want(t, http.StatusOK).object(t)
	if valueAt(got, "spec", "paint") != "red" || valueAt(got, "spec", "unknown") != nil {
		t.Errorf("read %v", got)
	}
	if version := <-reviews; version != "apiextensions.k8s.io/v1beta1" {
		t.Errorf("the review has version %s, want the default of v1beta1", version)
	}
	w.get(t, lampsV1+"/a/status").want(t, http.StatusOK)
	var table metav1.Table
	w.get(t, lampsV1, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").want(t, http.StatusOK).into(t, &table)
	if table.ColumnDefinitions[1].Name != "Color" || table.Rows[0].Cells[1] != "red" {
		t.Errorf("the table is %v %v", table.ColumnDefinitions, table.Rows)
	}

	back := w.get(t, legacyPath+"/lamps.example.com").want(t, http.StatusOK).object(t)
	for _, name := range []string{"validation", "subresources", "additionalPrinterColumns", "version", "versions"} {
		if want := valueAt(response{body: []byte(sent)}.object(t), "spec",
			name); !reflect.DeepEqual(valueAt(back, "spec", name),
			want) {
			t.Errorf("spec.%s came back as %v, want %v", name, valueAt(back, "spec", name), want)
		}
	}
	whole := w.get(t, definitionsPath+"/lamps.example.com").want(t, http.StatusOK).object(t)
	for i, v := range valueAt(whole, "spec", "versions").([]any) {
		v := v.(map[string]any)
		if v["schema"] == nil || v["subresources"] == nil || valueAt(v, "additionalPrinterColumns") == nil {
			t.Errorf("as v1, version %d is %v", i, v)
		}
	}
}
