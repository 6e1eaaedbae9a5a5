package client

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/object"
)

// wireCodec reads the objects of a wire source, without a Go type for them.
type wireCodec struct {
	cache *object.Cache
}

// Decode makes *unstructured.Unstructured of JSON.
func (c *wireCodec) Decode(form object.Form, data []byte) (runtime.Object, error) {
	if form.Format != object.JSON {
		return nil, fmt.Errorf("it came as %s, which can only be read into its Go type", form.Format)
	}
	return Decode[*unstructured.Unstructured](data)
}

// Encode is only possible in the version that the object was read in: converting is the server's work.
func (c *wireCodec) Encode(form object.Form, obj runtime.Object) ([]byte, error) {
	if kind := obj.GetObjectKind().GroupVersionKind(); form.Format != object.JSON || kind.GroupVersion().String() != form.APIVersion {
		return nil, fmt.Errorf("it was read over the wire in %s and can only be had in that", kind.GroupVersion())
	}
	return encode(obj)
}

// Stamp is that of all wire codecs: what the server wrote is read as it came.
func (c *wireCodec) Stamp() object.Stamp { return 1 }

func (c *wireCodec) Cache() *object.Cache { return c.cache }

// Untyped says that a codec is that of a source over the wire, which knows no Go types: its objects are for ReadObject.
func Untyped(by object.Codec) bool {
	_, untyped := by.(*wireCodec)
	return untyped
}

// unmarshaler is what reads itself from protobuf: the types of the built-in resources.
type unmarshaler interface {
	Unmarshal(data []byte) error
}

// ReadsProtobuf says whether a T can be read from protobuf: Kubernetes' own types, of objects or of metadata alone. A type that
// embeds one of them has its method, which fills no more than that part.
func ReadsProtobuf[T Object]() bool { return TypeReadsProtobuf(reflect.TypeFor[T]()) }

// TypeReadsProtobuf is ReadsProtobuf of a type that is known only when the program runs.
func TypeReadsProtobuf(t reflect.Type) bool {
	if reads, known := protobufReaders.Load(t); known {
		return reads.(bool)
	}
	reads := t.Kind() == reflect.Pointer && t.Implements(reflect.TypeFor[unmarshaler]()) &&
		(builtin(t.Elem()) || strings.HasPrefix(t.Elem().PkgPath(), "k8s.io/apimachinery/"))
	protobufReaders.Store(t, reads)
	return reads
}

// protobufReaders says of types whether they can be read from protobuf, which takes longer to find out than each request should.
var protobufReaders sync.Map // of reflect.Type, to bool

// ReadObject makes a T of an object as a source over the wire has it. The result belongs to the caller, unless the source read
// it already (Options.New): then it must not be changed.
func ReadObject[T Object](o *object.Object) (T, error) {
	if o.IsReady() {
		ready, _ := o.Decoded(&wireCodec{})
		if obj, ok := ready.(T); ok {
			return obj, nil
		}
	}
	obj := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	return obj, ReadObjectInto(o, obj)
}

// ReadObjectInto is ReadObject into an empty object, of a type that is known only when the program runs.
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
	reads, ok := obj.(unmarshaler)
	if !ok {
		return fmt.Errorf("%s: it came as protobuf, and %T cannot be read from that", o.Key, obj)
	}
	if kind := stored.Kind(); !readable(obj, kind) {
		return fmt.Errorf("%s: the server has a %s there, which cannot be read into a %T", o.Key, kind, obj)
	}
	if err := reads.Unmarshal(stored.Message()); err != nil {
		return fmt.Errorf("%s: reading a %T: %w", o.Key, obj, err)
	}
	setType(obj, stored.Form.APIVersion)
	return nil
}

// readable says whether the message of a kind can be read into an object.
func readable(obj Object, kind string) bool {
	return holds(obj, kind) || kind == "PartialObjectMetadata"
}

// setType has an object that was read from protobuf say what it is.
func setType(obj Object, apiVersion string) {
	if kind, ok := obj.GetObjectKind().(*metav1.TypeMeta); ok {
		*kind = metav1.TypeMeta{APIVersion: apiVersion, Kind: reflect.TypeOf(obj).Elem().Name()}
	}
}
