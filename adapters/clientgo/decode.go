package clientgo

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// decoder decodes objects into a Go type that is known only at run time. It is safe for concurrent use after transform
// is set.
type decoder struct {
	version schema.GroupVersion
	goType  reflect.Type // a pointer to a struct
	// kind is the kind of objects with metadata only; empty leaves it unset.
	kind      schema.GroupVersionKind
	transform cache.TransformFunc // nil for none
	// unshared makes each object a copy that shares nothing with the source or other objects.
	unshared bool
}

func newDecoder(version schema.GroupVersion, example runtime.Object) *decoder {
	d := &decoder{version: version, goType: reflect.TypeOf(example)}
	if _, metadata := example.(*metav1.PartialObjectMetadata); metadata {
		d.kind = example.GetObjectKind().GroupVersionKind()
	}
	return d
}

// narrow returns options that request the representation that is fastest to decode.
func (d *decoder) narrow(o client.Options) client.Options {
	o.Protobuf = wire.TypeReadsProtobuf(d.goType)
	o.MetadataOnly = d.onlyMetadata()
	return o
}

func (d *decoder) onlyMetadata() bool {
	return d.goType == reflect.TypeFor[*metav1.PartialObjectMetadata]()
}

// decode decodes an object and applies the transform.
func (d *decoder) decode(by object.Codec, o *object.Object) (client.Object, error) {
	obj, shared, err := d.read(by, o)
	if err != nil || d.transform == nil {
		return obj, err
	}
	if shared {
		obj = obj.DeepCopyObject().(client.Object)
	}
	changed, err := d.transform(obj)
	if err != nil {
		return nil, fmt.Errorf("%s: transforming it: %w", o.Key, err)
	}
	typed, ok := changed.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s: the transform returned a %T, which is not an object", o.Key, changed)
	}
	return typed, nil
}

// read decodes an object, or returns the source's own object if it has the type; shared reports which.
func (d *decoder) read(by object.Codec, o *object.Object) (obj client.Object, shared bool, err error) {
	if !wire.Untyped(by) && !d.onlyMetadata() {
		decode := o.Decoded
		if d.unshared {
			decode = o.Decode
		}
		decoded, err := decode(by)
		if err != nil {
			return nil, false, err
		}
		version := decoded.GetObjectKind().GroupVersionKind().GroupVersion()
		if reflect.TypeOf(decoded) == d.goType && (version == d.version || version.Empty()) {
			return decoded.(client.Object), !d.unshared, nil
		}
	}
	obj = reflect.New(d.goType.Elem()).Interface().(client.Object)
	if err := d.readInto(obj, by, o); err != nil {
		return nil, false, err
	}
	d.label(obj)
	return obj, false, nil
}

// label sets apiVersion and kind as client-go's informers do: typed objects have none, and objects with metadata only
// have those of the example, if any.
func (d *decoder) label(obj client.Object) {
	if _, untyped := obj.(runtime.Unstructured); !untyped {
		obj.GetObjectKind().SetGroupVersionKind(d.kind)
	}
}

func (d *decoder) readInto(obj client.Object, by object.Codec, o *object.Object) error {
	if wire.Untyped(by) {
		return wire.ReadObjectInto(o, obj)
	}
	encoding, err := o.Encoding(by, object.Form{APIVersion: d.version.String(), Format: object.JSON})
	if err != nil {
		return err
	}
	if err := wire.DecodeInto(encoding.Bytes(), obj); err != nil {
		return fmt.Errorf("%s: %w", o.Key, err)
	}
	return nil
}
