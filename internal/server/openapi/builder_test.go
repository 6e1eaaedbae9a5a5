package openapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/openapi"
)

// gadgets returns a definition that uses most features of definitions.
func gadgets() *apiextensionsv1.CustomResourceDefinition {
	schema := apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: "A Gadget is a thing.",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"spec": {
				Type: "object", Required: []string{"size", "maybe"},
				XValidations: apiextensionsv1.ValidationRules{{Rule: "self.size > 0", Message: "must hold something"}},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"size": {Type: "integer", Format: "int32", Minimum: new(1.0),
						Default: &apiextensionsv1.JSON{Raw: []byte(`3`)}},
					"maybe": {Type: "string", Nullable: true,
						Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"b"`)}}},
					"port": {XIntOrString: true},
					"even": {XIntOrString: true,
						AnyOf:   []apiextensionsv1.JSONSchemaProps{{Type: "integer"}, {Type: "string"}},
						Pattern: "^[0-9]+$"},
					"odd": {XIntOrString: true,
						AnyOf: []apiextensionsv1.JSONSchemaProps{{Pattern: "^1"}, {Pattern: "^3"}}},
					"both": {XIntOrString: true, AllOf: []apiextensionsv1.JSONSchemaProps{
						{AnyOf: []apiextensionsv1.JSONSchemaProps{{Type: "integer"}, {Type: "string"}}},
						{Pattern: "^1"},
					}},
					"free": {Type: "object", XPreserveUnknownFields: new(true),
						Properties: map[string]apiextensionsv1.JSONSchemaProps{"known": {Type: "string"}}},
					"pod": {Type: "object", XEmbeddedResource: true,
						Properties: map[string]apiextensionsv1.JSONSchemaProps{
							"spec": {Type: "object", XPreserveUnknownFields: new(true)},
						}},
					"any": {Type: "object", XEmbeddedResource: true, XPreserveUnknownFields: new(true)},
					"tags": {Type: "array", XListType: new("set"), MaxItems: new(int64(9)),
						Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string", MaxLength: new(int64(9))}}},
					"parts": {Type: "array", XListType: new("map"), XListMapKeys: []string{"name"},
						Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
							Type: "object", Required: []string{"name"},
							Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": {Type: "string",
								Pattern: "^[a-z]+$"}},
						}}},
					"labels": {Type: "object", XMapType: new("atomic"),
						AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string", Nullable: true}}},
				},
				OneOf: []apiextensionsv1.JSONSchemaProps{{Required: []string{"port"}}, {Required: []string{"parts"}}},
			},
			"status": {Type: "object",
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "integer"}}},
		},
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets.stable.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "stable.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget",
				ListKind: "GadgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema:           &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
				SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec.maybe"}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.size",
						StatusReplicasPath: ".status.size"},
				},
			}},
		},
	}
}

// TestDefinitionMatchesKubernetesBuilder compares the documents of a definition with those of
// Kubernetes' own builder: the schemas without descriptions, and the operations on each path.
func TestDefinitionMatchesKubernetesBuilder(t *testing.T) {
	t.Parallel()
	crd := gadgets()
	k, err := structural.New(object.NewCache(1<<20), crd, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := openapi.New(kind.NewRegistry(append(builtinKinds(), k)...), "v1.37.2", nil)
	v2, err := builder.BuildOpenAPIV2(crd, "v1", builder.Options{V2: true, IncludeSelectableFields: true})
	if err != nil {
		t.Fatal(err)
	}
	v3, err := builder.BuildOpenAPIV3(crd, "v1", builder.Options{IncludeSelectableFields: true})
	if err != nil {
		t.Fatal(err)
	}
	for path, c := range map[string]struct {
		want    any
		schemas []string
		without string
	}{
		"/openapi/v2":                            {v2, []string{"definitions"}, "default"},
		"/openapi/v3/apis/stable.example.com/v1": {v3, []string{"components", "schemas"}, ""},
	} {
		w := httptest.NewRecorder()
		h.Serve(w, httptest.NewRequest(http.MethodGet, path, nil))
		text, err := json.Marshal(c.want)
		if err != nil {
			t.Fatal(err)
		}
		want, got := parseJSON(t, text).(map[string]any), parseJSON(t, w.Body.Bytes()).(map[string]any)
		for _, name := range []string{"com.example.stable.v1.Gadget", "com.example.stable.v1.GadgetList"} {
			if d := cmp.Diff(at(want, append(c.schemas, name)), at(got, append(c.schemas, name)),
				without(c.without)); d != "" {
				t.Errorf("%s: %s: %s", path, name, d)
			}
		}
		if d := cmp.Diff(operationsOf(want), operationsOf(got)); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
}

// without ignores a keyword that Kubernetes removes after its builder has run, and descriptions, since those
// of common fields differ.
func without(word string) cmp.Option {
	return cmpopts.IgnoreMapEntries(func(name string, value any) bool {
		_, text := value.(string)
		return name == word || name == "description" && text
	})
}

// at returns the value in a document at a path of names.
func at(doc any, names []string) any {
	for _, name := range names {
		doc, _ = doc.(map[string]any)[name]
	}
	return doc
}

// operationsOf returns the operations on gadgets, one per line.
func operationsOf(doc map[string]any) []string {
	var out []string
	paths, _ := doc["paths"].(map[string]any)
	for path, item := range paths {
		item := item.(map[string]any)
		if !strings.Contains(path, "gadgets") {
			continue
		}
		for method, op := range item {
			op, ok := op.(map[string]any)
			if !ok {
				continue
			}
			out = append(out, fmt.Sprintf("%s %s %s %s %s %s", method, path,
				op["operationId"], op["tags"], op["x-kubernetes-action"], op["x-kubernetes-group-version-kind"]))
		}
	}
	slices.Sort(out)
	return out
}
