package wire

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/object"
)

// Objects of built-in types are sent and received as protobuf, which is several times faster than JSON to
// encode and decode; a server that cannot encode protobuf responds in JSON. All other objects, including
// custom resources, are JSON.

// IsProtobuf reports whether data is protobuf in Kubernetes' envelope.
func IsProtobuf(data []byte) bool { return bytes.HasPrefix(data, []byte(object.ProtobufMagic)) }

// Unwrap returns the kind and the message in an envelope (runtime.Unknown). The message shares the memory of
// data.
func Unwrap(data []byte) (kind schema.GroupVersionKind, message []byte, err error) {
	var meta runtime.TypeMeta
	err = EachField(data[len(object.ProtobufMagic):], func(n protowire.Number, value []byte) error {
		switch n {
		case envelopeType:
			return meta.Unmarshal(value)
		case envelopeRaw:
			message = value
		}
		return nil
	})
	return schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind), message, err
}

// EachField calls f for each length-delimited field of a message and skips the others.
func EachField(message []byte, f func(n protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return protowire.ParseError(n)
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			if err := f(number, value); err != nil {
				return err
			}
		}
		message = message[n:]
	}
	return nil
}

// OnlyFields returns a message with only those fields whose numbers are set in the bitmap wanted.
func OnlyFields(message []byte, wanted uint64) (fields []byte, err error) {
	for len(message) > 0 {
		number, _, length := protowire.ConsumeField(message)
		if length < 0 {
			return nil, protowire.ParseError(length)
		}
		if number < 64 && wanted&(1<<number) != 0 {
			fields = append(fields, message[:length]...)
		}
		message = message[length:]
	}
	return fields, nil
}

// Read decodes an object from JSON or protobuf.
func Read[T Object](data []byte) (T, error) {
	if !IsProtobuf(data) {
		return Decode[T](data)
	}
	kind, message, err := Unwrap(data)
	if err != nil {
		return *new(T), &DecodeError{Object: "the answer", Type: reflect.TypeFor[T]().String(), Err: err}
	}
	return ReadMessage[T](message, kind)
}

// ReadMessage decodes an object of the given kind from protobuf.
func ReadMessage[T Object](message []byte, kind schema.GroupVersionKind) (T, error) {
	obj := newOf[T]()
	reads, ok := any(obj).(Unmarshaler)
	var err error
	switch {
	case !ok:
		err = errors.New("the response is protobuf, which the Go type cannot decode")
	case !holds(obj, kind.Kind):
		// field numbers of another kind mean something else, except those of the metadata
		err = fmt.Errorf("the server sent a %s", kind.Kind)
	default:
		err = reads.Unmarshal(message)
	}
	if err != nil {
		var partial metav1.PartialObjectMetadata
		_ = partial.Unmarshal(message) // best effort, for the error message
		name := strings.TrimPrefix(partial.Namespace+"/"+partial.Name, "/")
		return obj, &DecodeError{Object: kind.Kind + " " + name, Type: fmt.Sprintf("%T", obj), Err: err}
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return obj, nil
}

// holds reports whether a Go type has the fields of a kind: its own type, or metadata only.
func holds(obj Object, kind string) bool {
	_, metadata := obj.(*metav1.PartialObjectMetadata)
	return metadata || reflect.TypeOf(obj).Elem().Name() == kind
}

// ReadList decodes a list from JSON or protobuf, but not its items.
func ReadList(data []byte) (*List, error) {
	if !IsProtobuf(data) {
		return decodeList(data)
	}
	kind, message, err := Unwrap(data)
	if err != nil {
		return nil, err
	}
	list := &List{Protobuf: true}
	list.SetGroupVersionKind(kind)
	err = EachField(message, func(n protowire.Number, value []byte) error {
		switch n {
		case listMetadata:
			return list.Metadata.Unmarshal(value)
		case listItem:
			list.Items = append(list.Items, value)
		}
		return nil
	})
	return list, err
}

// EncodeBody encodes an object for a request and returns its media type: protobuf for built-in types, JSON
// otherwise. If the object has no kind and apiVersion, EncodeBody adds those of kind.
func EncodeBody(obj Object, kind schema.GroupVersionKind) (data []byte, form string, err error) {
	own, ok := obj.(runtime.ProtobufMarshaller)
	if !ok || !IsBuiltin(reflect.TypeOf(obj).Elem()) {
		data, err := EncodeAs(obj, kind)
		return data, runtime.ContentTypeJSON, err
	}
	if declared := obj.GetObjectKind().GroupVersionKind(); !declared.Empty() {
		kind = declared
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: kind.Kind, APIVersion: kind.GroupVersion().String()}}
	const begin = len(object.ProtobufMagic)
	size := own.Size()
	const lengths = 16 // room for the lengths that precede the object
	data = make([]byte, begin+envelope.Size()+size+lengths)
	copy(data, object.ProtobufMagic)
	n, err := envelope.NestedMarshalTo(data[begin:], own, uint64(size))
	if err != nil {
		return nil, "", fmt.Errorf("writing a %T: %w", obj, err)
	}
	return data[:begin+n], runtime.ContentTypeProtobuf, nil
}

// newOf returns an empty object.
func newOf[T Object]() T { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) }
