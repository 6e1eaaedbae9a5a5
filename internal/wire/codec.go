package wire

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/object"
)

// Codec decodes objects of a network source into unstructured ones.
type Codec struct {
	cache *object.Cache
}

// NewCodec returns a codec. Its cache of converted encodings holds at most size bytes.
func NewCodec(size int) *Codec { return &Codec{cache: object.NewCache(size)} }

// Decode decodes JSON into *unstructured.Unstructured.
func (c *Codec) Decode(form object.Form, data []byte) (runtime.Object, error) {
	if form.Format != object.JSON {
		return nil, fmt.Errorf("it came as %s, which can only be read into its Go type", form.Format)
	}
	return Decode[*unstructured.Unstructured](data)
}

// Encode supports only the version that the object was read in: only the server can convert.
func (c *Codec) Encode(form object.Form, obj runtime.Object) ([]byte, error) {
	if kind := obj.GetObjectKind().GroupVersionKind(); form.Format != object.JSON ||
		kind.GroupVersion().String() != form.APIVersion {
		return nil, fmt.Errorf("it was read over the wire in %s and can only be had in that", kind.GroupVersion())
	}
	return Encode(obj)
}

// Stamp is the same for all wire codecs, since objects stay as the server encoded them.
func (c *Codec) Stamp() object.Stamp { return 1 }

// Cache returns the cache of converted encodings.
func (c *Codec) Cache() *object.Cache { return c.cache }

// Untyped reports whether a codec belongs to a source over the network, which knows no Go types: decode its
// objects with ReadObject.
func Untyped(by object.Codec) bool {
	_, untyped := by.(*Codec)
	return untyped
}

// Unmarshaler is implemented by types that decode themselves from protobuf, such as the built-in ones.
type Unmarshaler interface {
	Unmarshal(data []byte) error
}

// ReadsProtobuf reports whether a T can be decoded from protobuf. This holds for the built-in types and the
// metadata-only types. It does not hold for a type that embeds a built-in type, because the promoted
// Unmarshal method would fill only the embedded part.
func ReadsProtobuf[T Object]() bool { return TypeReadsProtobuf(reflect.TypeFor[T]()) }

// TypeReadsProtobuf is like ReadsProtobuf for a type that is known only at run time.
func TypeReadsProtobuf(t reflect.Type) bool {
	if reads, known := protobufReaders.Load(t); known {
		return reads.(bool)
	}
	reads := t.Kind() == reflect.Pointer && t.Implements(reflect.TypeFor[Unmarshaler]()) &&
		(IsBuiltin(t.Elem()) || strings.HasPrefix(t.Elem().PkgPath(), "k8s.io/apimachinery/"))
	protobufReaders.Store(t, reads)
	return reads
}

// protobufReaders caches the results of TypeReadsProtobuf, which would be too slow for each request.
var protobufReaders sync.Map // reflect.Type to bool

// ReadObject decodes an object of a network source into a T. The caller owns the result, unless the source
// has decoded the object already (see client.Options.New): such an object is shared and must not be changed.
func ReadObject[T Object](o *object.Object) (T, error) {
	if o.IsReady() {
		ready, _ := o.Decoded(&Codec{})
		if obj, ok := ready.(T); ok {
			return obj, nil
		}
	}
	obj := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	return obj, ReadObjectInto(o, obj)
}

// ReadObjectInto is like ReadObject but decodes into obj, which must be empty, for types that are known only
// at run time.
func ReadObjectInto(o *object.Object, obj Object) error {
	if o.IsReady() {
		return fmt.Errorf("%s: it was read into another Go type than %T", o.Key, obj)
	}
	stored := o.Stored()
	if stored.Form.Format == object.JSON {
		if err := DecodeInto(stored.Bytes(), obj); err != nil {
			return fmt.Errorf("%s: %w", o.Key, err)
		}
		return nil
	}
	reads, ok := obj.(Unmarshaler)
	if !ok {
		return fmt.Errorf("%s: the object is protobuf, which a %T cannot decode", o.Key, obj)
	}
	if kind := stored.Kind(); !Readable(obj, kind) {
		return fmt.Errorf("%s: the server sent a %s, which cannot be read into a %T", o.Key, kind, obj)
	}
	if err := reads.Unmarshal(stored.Message()); err != nil {
		return fmt.Errorf("%s: reading a %T: %w", o.Key, obj, err)
	}
	SetType(obj, stored.Form.APIVersion)
	return nil
}

// Readable reports whether the protobuf message of a kind can be decoded into obj.
func Readable(obj Object, kind string) bool {
	return holds(obj, kind) || kind == "PartialObjectMetadata"
}

// SetType sets the kind and apiVersion of an object that was decoded from protobuf.
func SetType(obj Object, apiVersion string) {
	if kind, ok := obj.GetObjectKind().(*metav1.TypeMeta); ok {
		*kind = metav1.TypeMeta{APIVersion: apiVersion, Kind: reflect.TypeOf(obj).Elem().Name()}
	}
}

// IsBuiltin reports whether a type is one of Kubernetes' own, whose package paths end with group and version.
func IsBuiltin(t reflect.Type) bool {
	return strings.HasPrefix(t.PkgPath(), "k8s.io/api/") ||
		strings.HasPrefix(t.PkgPath(), "k8s.io/apiextensions-apiserver/") ||
		strings.HasPrefix(t.PkgPath(), "k8s.io/kube-aggregator/")
}
