package bowlinetest

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// properties is the schema of a value.
type properties = apiextensionsv1.JSONSchemaProps

// schemaOfObject returns the schema of a kind. Its metadata has no properties, since the server knows their
// schema.
func schemaOfObject(goType reflect.Type) *properties {
	s := schemas{}.of(goType)
	s.Properties["metadata"] = properties{Type: "object"}
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool {
		return name == "metadata" || name == "kind" || name == "apiVersion"
	})
	return &s
}

// schemas is the stack of types whose schemas are being built, from the outermost inwards. It detects
// recursive types.
type schemas []reflect.Type

// selfDescribing is implemented by types that write their own JSON and describe it with one OpenAPI type.
type selfDescribing interface {
	OpenAPISchemaType() []string
	OpenAPISchemaFormat() string
}

// oneOfTypes is implemented by types whose JSON is of one of several OpenAPI types.
type oneOfTypes interface{ OpenAPIV3OneOfTypes() []string }

// anything returns the schema of unknown content, of which nothing is pruned.
func anything() properties {
	preserve := true
	return properties{XPreserveUnknownFields: &preserve}
}

func (s schemas) of(t reflect.Type) properties {
	if described, ok := ofSelfDescribing(t); ok {
		return described
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return properties{Type: "boolean"}
	case reflect.Int32, reflect.Int16, reflect.Int8, reflect.Uint8, reflect.Uint16:
		return properties{Type: "integer", Format: "int32"}
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return properties{Type: "integer", Format: "int64"}
	case reflect.Float32, reflect.Float64:
		return properties{Type: "number"}
	case reflect.String:
		return properties{Type: "string"}
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return properties{Type: "string", Format: "byte"}
		}
		items := s.of(t.Elem())
		return properties{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}}
	case reflect.Map:
		values := s.of(t.Elem())
		return properties{Type: "object",
			AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &values}}
	case reflect.Struct:
		return s.ofStruct(t)
	}
	return anything()
}

// ofSelfDescribing returns the schema of a type with its own JSON form; the result is false for other types.
func ofSelfDescribing(t reflect.Type) (properties, bool) {
	value := reflect.New(t).Interface()
	if t == reflect.TypeFor[metav1.ObjectMeta]() { // nested, as in a template
		preserve := true
		return properties{Type: "object", XPreserveUnknownFields: &preserve}, true
	}
	if union, ok := value.(oneOfTypes); ok && slices.Contains(union.OpenAPIV3OneOfTypes(), "string") {
		return properties{XIntOrString: true}, true // the other type is a number
	}
	if described, ok := value.(selfDescribing); ok && len(described.OpenAPISchemaType()) == 1 {
		return properties{Type: described.OpenAPISchemaType()[0], Format: described.OpenAPISchemaFormat()}, true
	}
	switch value.(type) {
	case json.Marshaler:
		return anything(), true
	case encoding.TextMarshaler:
		return properties{Type: "string"}, true
	}
	return properties{}, false
}

// ofStruct returns the schema of a struct. A struct within itself may hold anything, because structural
// schemas cannot be recursive.
func (s schemas) ofStruct(t reflect.Type) properties {
	if slices.Contains(s, t) {
		return anything()
	}
	described := properties{Type: "object", Properties: map[string]properties{}}
	within := append(s, t)
	for _, field := range jsonFields(t) {
		described.Properties[field.name] = within.ofField(field)
		if !field.optional {
			described.Required = append(described.Required, field.name)
		}
	}
	return described
}

// ofField returns the schema of a field, which is a string if the tag quotes its value.
func (s schemas) ofField(f jsonField) properties {
	described := s.of(f.goType)
	if f.quoted && (described.Type == "boolean" || described.Type == "integer" || described.Type == "number") {
		return properties{Type: "string"}
	}
	return described
}
