package kind

import "k8s.io/apimachinery/pkg/runtime"

// Schematic is implemented by kinds that bring their own schema, those of custom resources.
type Schematic interface {
	// RawSchema is the schema of the kind's objects in a version, the JSON of a JSONSchemaProps; nil when the version is not
	// defined, or has none and takes any field. The caller must not change it.
	RawSchema(version string) []byte

	// PreservesUnknownFields says that objects keep the fields that the schema does not know.
	PreservesUnknownFields() bool
}

// Translator is implemented by kinds whose versions may know different fields, those of custom resources.
type Translator interface {
	// Translate takes an object to another version as Kind.Convert does, and leaves nothing out: what the other version does
	// not know stays. It does not change obj.
	Translate(obj runtime.Object, apiVersion string) (runtime.Object, error)
}
