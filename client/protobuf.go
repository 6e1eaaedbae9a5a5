package client

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
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/object"
)

// Objects of Kubernetes' own types go to and fro as protobuf, which takes a fraction of the time that JSON does to write and to
// read; a server that has none answers in JSON. All others, custom resources among them, are JSON.

// asks says in which forms an answer with a T may come.
func asks[T Object](q *rest.Request) *rest.Request {
	if ReadsProtobuf[T]() {
		q.SetHeader("Accept", runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON)
	}
	return q
}

// isProtobuf says that an answer is protobuf in Kubernetes' envelope.
func isProtobuf(data []byte) bool { return bytes.HasPrefix(data, []byte(object.ProtobufMagic)) }

// unwrap takes a message out of Kubernetes' envelope (runtime.Unknown), without a copy, and says what it is.
func unwrap(data []byte) (kind schema.GroupVersionKind, message []byte, err error) {
	var meta runtime.TypeMeta
	err = eachField(data[len(object.ProtobufMagic):], func(n protowire.Number, value []byte) error {
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

// eachField calls f with each field of a message that has bytes, and passes over the others.
func eachField(message []byte, f func(n protowire.Number, value []byte) error) error {
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

// onlyFields is a message with those of its fields whose numbers are set in wanted.
func onlyFields(message []byte, wanted uint64) (kept []byte, err error) {
	for len(message) > 0 {
		number, _, length := protowire.ConsumeField(message)
		if length < 0 {
			return nil, protowire.ParseError(length)
		}
		if number < 64 && wanted&(1<<number) != 0 {
			kept = append(kept, message[:length]...)
		}
		message = message[length:]
	}
	return kept, nil
}

// read reads an object in the form that it came in.
func read[T Object](data []byte) (T, error) {
	if !isProtobuf(data) {
		return Decode[T](data)
	}
	kind, message, err := unwrap(data)
	if err != nil {
		return *new(T), &DecodeError{Object: "the answer", Type: reflect.TypeFor[T]().String(), Err: err}
	}
	return readMessage[T](message, kind)
}

// readMessage reads an object of that kind from protobuf.
func readMessage[T Object](message []byte, kind schema.GroupVersionKind) (T, error) {
	obj := newOf[T]()
	reads, ok := any(obj).(unmarshaler)
	var err error
	switch {
	case !ok:
		err = errors.New("it came as protobuf, of which the Go type cannot be read")
	case !holds(obj, kind.Kind):
		err = fmt.Errorf("the server has a %s there", kind.Kind) // of which nothing but the metadata means the same
	default:
		err = reads.Unmarshal(message)
	}
	if err != nil {
		var partial metav1.PartialObjectMetadata
		_ = partial.Unmarshal(message) // as far as it can be read
		name := strings.TrimPrefix(partial.Namespace+"/"+partial.Name, "/")
		return obj, &DecodeError{Object: kind.Kind + " " + name, Type: fmt.Sprintf("%T", obj), Err: err}
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return obj, nil
}

// holds says that a Go type has the fields of a kind: its own, or any if it is metadata alone.
func holds(obj Object, kind string) bool {
	_, metadata := obj.(*metav1.PartialObjectMetadata)
	return metadata || reflect.TypeOf(obj).Elem().Name() == kind
}

// readList reads a list, whose items are not read yet, in the form that it came in.
func readList(data []byte) (*rawList, error) {
	if !isProtobuf(data) {
		return decodeList(data)
	}
	kind, message, err := unwrap(data)
	if err != nil {
		return nil, err
	}
	list := &rawList{protobuf: true}
	list.SetGroupVersionKind(kind)
	err = eachField(message, func(n protowire.Number, value []byte) error {
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

// body writes an object as the server is going to read it, and says in which form: protobuf for Kubernetes' own types, which
// every server reads. Without kind and apiVersion it gets those of the resource that it is sent to.
func body(obj Object, kind schema.GroupVersionKind) (data []byte, form string, err error) {
	own, ok := obj.(runtime.ProtobufMarshaller)
	if !ok || !builtin(reflect.TypeOf(obj).Elem()) {
		data, err := encodeAs(obj, kind)
		return data, runtime.ContentTypeJSON, err
	}
	if said := obj.GetObjectKind().GroupVersionKind(); !said.Empty() {
		kind = said
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: kind.Kind, APIVersion: kind.GroupVersion().String()}}
	const begin = len(object.ProtobufMagic)
	size := own.Size()
	const lengths = 16 // how long the object is is written in front of it
	data = make([]byte, begin+envelope.Size()+size+lengths)
	copy(data, object.ProtobufMagic)
	n, err := envelope.NestedMarshalTo(data[begin:], own, uint64(size))
	if err != nil {
		return nil, "", fmt.Errorf("writing a %T: %w", obj, err)
	}
	return data[:begin+n], runtime.ContentTypeProtobuf, nil
}
