package client

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"

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

// read reads an object in the form that it came in, of that kind if it does not say which itself.
func read[T Object](data []byte, kind schema.GroupVersionKind) (T, error) {
	if !isProtobuf(data) {
		return decode[T](data, kind)
	}
	obj := newOf[T]()
	reads, ok := any(obj).(unmarshaler)
	if !ok {
		return obj, fmt.Errorf("the answer came as protobuf, and %T cannot be read from that", obj)
	}
	var envelope runtime.Unknown
	err := envelope.Unmarshal(data[len(object.ProtobufMagic):])
	if err == nil && !holds(obj, envelope.Kind) {
		err = fmt.Errorf("the server has a %s there", envelope.Kind) // of which nothing but the metadata means the same
	}
	if err == nil {
		err = reads.Unmarshal(envelope.Raw)
	}
	if err != nil {
		facts := protobufFacts(data)
		return obj, &DecodeError{Object: strings.TrimSpace(facts.Kind + " " + facts.Metadata.Name), Type: fmt.Sprintf("%T", obj), Err: err}
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(envelope.APIVersion, envelope.Kind))
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
	list := &rawList{}
	reader := listReader{in: &stream{body: io.NopCloser(bytes.NewReader(data))}, item: func(_ object.Format, item []byte) {
		list.Items = append(list.Items, item)
	}}
	err := reader.read()
	list.TypeMeta, list.Metadata = reader.kind, reader.meta
	return list, err
}

// marshaler is what writes itself as protobuf.
type marshaler interface{ Marshal() ([]byte, error) }

// body writes an object as the server is going to read it, and says in which form: protobuf for Kubernetes' own types, which
// every server reads. Without kind and apiVersion it gets those of the resource that it is sent to.
func body(obj Object, kind schema.GroupVersionKind) (data []byte, form string, err error) {
	own, ok := obj.(marshaler)
	if !ok || !builtin(reflect.TypeOf(obj).Elem()) {
		data, err := encodeAs(obj, kind)
		return data, runtime.ContentTypeJSON, err
	}
	if said := obj.GetObjectKind().GroupVersionKind(); !said.Empty() {
		kind = said
	}
	raw, err := own.Marshal()
	if err != nil {
		return nil, "", fmt.Errorf("writing a %T: %w", obj, err)
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: kind.Kind, APIVersion: kind.GroupVersion().String()}, Raw: raw}
	data = make([]byte, len(object.ProtobufMagic)+envelope.Size())
	copy(data, object.ProtobufMagic)
	if _, err := envelope.MarshalTo(data[len(object.ProtobufMagic):]); err != nil {
		return nil, "", fmt.Errorf("writing a %T: %w", obj, err)
	}
	return data, runtime.ContentTypeProtobuf, nil
}
