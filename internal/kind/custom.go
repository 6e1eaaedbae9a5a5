package kind

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/object"
)

// Custom is a Kind that a CustomResourceDefinition defines, as one of its versions serves it; Info.Builtin is false.
// Its objects are *unstructured.Unstructured. Rules work on objects in the version of the request, and not in the hub
// version. Each version has its own Kind, with its own subresources, columns and selectable fields; the stored form is
// the same for all.
type Custom interface {
	Kind

	// APIVersion returns the version that the rules work on.
	APIVersion() string

	// In returns the kind in another of its versions, or nil if there is no such version.
	In(apiVersion string) Kind

	// ToStorage converts obj to the storage version, applies that version's defaults, and returns the kind in that
	// version. It does not modify obj, and returns obj itself if it already has that version.
	ToStorage(obj Object) (Kind, Object, error)

	// Codec returns a codec that decodes stored objects of any version with the newest definition of the kind;
	// Object.Decode leaves them in their stored version. Objects that the Kind itself encodes have the Kind's own
	// stamp.
	Codec() object.Codec

	// Translate converts an object like Kind.Convert, but also retains the fields that the target version does not
	// define. It does not modify obj.
	Translate(obj runtime.Object, apiVersion string) (runtime.Object, error)

	// RawSchema returns the schema of a version, as the JSON of a JSONSchemaProps. It returns nil if the version is not
	// defined, or has no schema and accepts any field. The caller must not modify the result.
	RawSchema(version string) []byte
	// PreservesUnknownFields reports whether objects retain fields that the schema does not define.
	PreservesUnknownFields() bool

	// CallsWebhook reports whether a conversion calls a webhook. The call may take long, and does not end with the
	// context of a request.
	CallsWebhook() bool

	// ReceiveMerged applies defaults to the result of a server-side apply, without decoding it from JSON: validation
	// then sees nulls that decoding would remove from non-nullable fields. It takes ownership of obj.
	ReceiveMerged(obj *unstructured.Unstructured) (Object, error)
	// ReceiveMap does what DecodeRequest does for the encoding of obj, which the result of a patch then does not need.
	// It takes ownership of obj, even if it returns an error.
	ReceiveMap(obj *unstructured.Unstructured, lenient bool) (received Object, strict []string, err error)

	// Ended returns a channel that is closed when the kind was replaced or removed. The server then ends the watches of
	// its objects, and clients list and watch anew.
	Ended() <-chan struct{}
}

// CodecOf returns the codec for stored objects of a kind. For a Custom kind it changes with the definition.
func CodecOf(k Kind) object.Codec {
	if c, ok := k.(Custom); ok {
		return c.Codec()
	}
	return k
}

// In returns the kind as one of its endpoints serves it.
func In(k Kind, e *Endpoint) Kind {
	if c, ok := k.(Custom); ok {
		if other := c.In(e.APIVersion()); other != nil {
			return other
		}
	}
	return k
}
