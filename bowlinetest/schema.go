package bowlinetest

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// properties is a schema.
type properties = apiextensionsv1.JSONSchemaProps

// schemaOfObject is the schema of a kind. Its metadata are not described, since the server knows what they are.
func schemaOfObject(goType reflect.Type) *properties {
	s := schemas{}.of(goType)
	s.Properties["metadata"] = properties{Type: "object"}
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool {
		return name == "metadata" || name == "kind" || name == "apiVersion"
	})
	return &s
}

// schemas are the types that are being described, from the outermost to the one at hand.
type schemas []reflect.Type

// selfDescribing is what types are that write their own JSON and say what that is.
type selfDescribing interface {
	OpenAPISchemaType() []string
	OpenAPISchemaFormat() string
}

// oneOfTypes is what a selfDescribing type is beside that which may be several things.
type oneOfTypes interface{ OpenAPIV3OneOfTypes() []string }

// anything is the schema of what is not known. Nothing of it is pruned.
func anything() properties {
	keep := true
	return properties{XPreserveUnknownFields: &keep}
}

func (s schemas) of(t reflect.Type) properties {
	if own, ok := ofSelfDescribing(t); ok {
		return own
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
		return properties{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &values}}
	case reflect.Struct:
		return s.ofStruct(t)
	}
	return anything()
}

// ofSelfDescribing is the schema of a type that writes its own JSON.
func ofSelfDescribing(t reflect.Type) (properties, bool) {
	value := reflect.New(t).Interface()
	if t == reflect.TypeFor[metav1.ObjectMeta]() { // inside of something, such as a template
		keep := true
		return properties{Type: "object", XPreserveUnknownFields: &keep}, true
	}
	if several, ok := value.(oneOfTypes); ok && slices.Contains(several.OpenAPIV3OneOfTypes(), "string") {
		return properties{XIntOrString: true}, true // the other one is a number
	}
	if says, ok := value.(selfDescribing); ok && len(says.OpenAPISchemaType()) == 1 {
		return properties{Type: says.OpenAPISchemaType()[0], Format: says.OpenAPISchemaFormat()}, true
	}
	switch value.(type) {
	case json.Marshaler:
		return anything(), true
	case encoding.TextMarshaler:
		return properties{Type: "string"}, true
	}
	return properties{}, false
}

// ofStruct is a schema of fields. A struct within itself is anything: schemas are trees.
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

// ofField is the schema of what a field holds, which its tag may have written as a string.
func (s schemas) ofField(f jsonField) properties {
	described := s.of(f.goType)
	if f.quoted && (described.Type == "boolean" || described.Type == "integer" || described.Type == "number") {
		return properties{Type: "string"}
	}
	return described
}
