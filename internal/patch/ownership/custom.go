package ownership

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/structural"
)

// objectMeta is the type of the metadata of custom resources and embedded objects.
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// customType returns the type of a custom resource in a version. Without a structural schema, all fields are
// allowed.
func customType(own kind.Custom, gvk schema.GroupVersionKind) (typed.ParseableType, error) {
	model, err := customModel(own.RawSchema(gvk.Version))
	if err != nil {
		return typed.ParseableType{}, fmt.Errorf("the schema of %s cannot be read: %w", gvk, err)
	}
	name := gvk.String()
	converted, err := schemaconv.ToSchemaFromOpenAPI(map[string]*spec.Schema{name: model}, own.PreservesUnknownFields())
	if err != nil {
		return typed.ParseableType{}, fmt.Errorf("the schema of %s defines no types: %w", gvk, err)
	}
	_, meta, err := builtinTypes().Find(objectMeta)
	if err != nil {
		return typed.ParseableType{}, err
	}
	return root(name, append(converted.Types, meta...)), nil
}

func customModel(raw []byte) (*spec.Schema, error) {
	s, err := structural.ReadSchema(raw)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}, nil
	}
	model := s.ToKubeOpenAPI()
	describeObject(model)
	describeEmbedded(model)
	return model, nil
}

// describeObject adds the fields of all objects to a schema.
func describeObject(s *spec.Schema) {
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
	s.SetProperty("metadata", *spec.RefSchema("#/components/schemas/" + objectMeta))
}

// describeEmbedded adds them to the schemas of embedded objects.
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
