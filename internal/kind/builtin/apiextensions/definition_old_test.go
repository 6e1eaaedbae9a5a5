package apiextensions

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestV1beta1RoundTrip checks that the fields that v1beta1 has for all versions are copied to each version of
// v1, and back.
func TestV1beta1RoundTrip(t *testing.T) {
	t.Parallel()
	spec := things +
		`,"version":"v1","preserveUnknownFields":false,"validation":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object"}}}},` +
		`"subresources":{"status":{}},"additionalPrinterColumns":[{"name":"A","type":"string","JSONPath":".spec.a"}]`
	k := newKind()
	crd, status := write(t, k, object.Form{APIVersion: legacy}, manifest(legacy, "example.com", "", spec), nil)
	if status != nil {
		t.Fatal(status.Message)
	}
	v := crd.Spec.Versions[0]
	if v.Name != "v1" || !v.Served || !v.Storage || v.Subresources.Status == nil ||
		v.AdditionalPrinterColumns[0].JSONPath != ".spec.a" || v.Schema.OpenAPIV3Schema.Type != "object" {
		t.Errorf("the version in the hub is %+v", v)
	}
	before := stored(t, k, crd)
	data, err := k.Encode(object.Form{APIVersion: legacy}, before)
	if err != nil {
		t.Fatal(err)
	}
	var shown struct {
		APIVersion string
		Spec       map[string]any
	}
	if err := json.Unmarshal(data, &shown); err != nil {
		t.Fatal(err)
	}
	if shown.APIVersion != legacy || shown.Spec["version"] != "v1" || shown.Spec["validation"] == nil ||
		shown.Spec["subresources"] == nil || shown.Spec["additionalPrinterColumns"] == nil {
		t.Errorf("v1beta1 shows %s", data)
	}
	back, err := k.Decode(object.Form{APIVersion: legacy}, data)
	if err != nil || !reflect.DeepEqual(back, stored(t, k, crd)) {
		t.Errorf("v1beta1 reads back as %+v (%v)", back, err)
	}
	if !reflect.DeepEqual(before, stored(t, k, crd)) {
		t.Error("encoding changed the definition")
	}
}

// TestStoredAsHub checks that a definition is stored as v1 regardless of the request's version, in JSON and
// in protobuf.
func TestStoredAsHub(t *testing.T) {
	t.Parallel()
	k := newKind()
	crd, status := write(t, k, object.Form{APIVersion: legacy},
		manifest(legacy, "example.com", "", things+`,"version":"v1"`), nil)
	if status != nil {
		t.Fatal(status.Message)
	}
	for _, format := range []object.Format{object.JSON, object.Protobuf} {
		form := object.Form{APIVersion: hub, Format: format}
		data, err := k.Encode(form, crd)
		if err != nil {
			t.Fatal(err)
		}
		if format == object.JSON &&
			!strings.HasPrefix(string(data),
				`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1",`) {
			t.Errorf("stored as %s", data)
		}
		obj, err := k.Decode(form, data)
		if err != nil || obj.(*definition).APIVersion != hub || !obj.(*definition).Spec.PreserveUnknownFields {
			t.Errorf("reads back as %+v (%v)", obj, err)
		}
	}
}

// TestOldManifest checks that a definition of Kubernetes' v1beta1 era creates a kind that preserves all
// fields.
func TestOldManifest(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"samplecrd.k8s.io", "sample.k8s.io"} {
		body := fmt.Appendf(nil,
			`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","metadata":{"name":"networks.%s"},
			"spec":{"group":%q,"version":"v1","names":{"kind":"Network","plural":"networks"},"scope":"Namespaced"}}`, group, group)
		crd, status := write(t, newKind(), object.Form{APIVersion: legacy}, body, nil)
		if status != nil {
			t.Fatal(status.Message)
		}
		Establish(crd, taking(), noon)
		if !IsEstablished(crd) || crd.Status.AcceptedNames.ListKind != "NetworkList" {
			t.Errorf("group %s: conditions\n%s\naccepted names %+v", group, conditions(crd), crd.Status.AcceptedNames)
		}
		k, err := structural.New(object.NewCache(0), crd, nil)
		if err != nil {
			t.Fatal(err)
		}
		obj, strict, err := k.DecodeRequest(object.Form{APIVersion: group + "/v1"},
			fmt.Appendf(nil,
				`{"apiVersion":"%s/v1","kind":"Network","metadata":{"name":"n"},"spec":{"cidr":"192.168.0.0/16","gatewar":"192.168.0.1"}}`, group), false)
		if err != nil || len(strict) > 0 || len(k.Validate(t.Context(), obj, nil, "")) > 0 {
			t.Errorf("group %s: an object with any fields: error %v, unknown fields %q", group, err, strict)
		}
	}
}
