package ownership

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/bowline-dev/bowline/patch/ownership/internal/types"
)

// Schematic is implemented by kinds that bring their own schema, those of custom resources.
type Schematic interface {
	// RawSchema is the OpenAPI v3 schema of a version as JSON; nil when the version has none and takes any field.
	RawSchema(version string) []byte
	// PreservesUnknownFields says that fields which the schema does not know stay.
	PreservesUnknownFields() bool
}

// objectMeta is the type of metadata, of custom resources and of objects inside them.
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// customType makes the type of a custom resource in a version. Without a structural schema it is an object of any fields.
func customType(own Schematic, gvk schema.GroupVersionKind) (typed.ParseableType, error) {
	model, err := customModel(own.RawSchema(gvk.Version))
	if err != nil {
		return typed.ParseableType{}, fmt.Errorf("the schema of %s cannot be read: %w", gvk, err)
	}
	name := gvk.String()
	converted, err := schemaconv.ToSchemaFromOpenAPI(map[string]*spec.Schema{name: model}, own.PreservesUnknownFields())
	if err != nil {
		return typed.ParseableType{}, fmt.Errorf("the schema of %s says no types: %w", gvk, err)
	}
	_, meta, err := types.Find(builtinTypes, objectMeta)
	if err != nil {
		return typed.ParseableType{}, err
	}
	return root(name, append(converted.Types, meta...)), nil
}

func customModel(raw []byte) (*spec.Schema, error) {
	anything := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	if raw == nil {
		return anything, nil
	}
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(raw, &props); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil); err != nil {
		return nil, err
	}
	s, err := structural.NewStructural(&internal)
	if err != nil || len(structural.ValidateStructural(nil, s)) > 0 {
		return anything, nil // only an old definition can be so
	}
	model := s.ToKubeOpenAPI()
	describeObject(model)
	describeEmbedded(model)
	return model, nil
}

// describeObject gives a schema the fields that every object has.
func describeObject(s *spec.Schema) {
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
	s.SetProperty("metadata", *spec.RefSchema("#/components/schemas/" + objectMeta))
}

// describeEmbedded does so for the objects that a schema has inside it.
func describeEmbedded(s *spec.Schema) {
	if s == nil {
		return
	}
	for name, p := range s.Properties {
		describeEmbedded(&p)
		s.Properties[name] = p
	}
	if s.Items != nil {
		describeEmbedded(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		describeEmbedded(s.AdditionalProperties.Schema)
	}
	if embedded, _ := s.Extensions.GetBool("x-kubernetes-embedded-resource"); embedded {
		describeObject(s)
	}
}
