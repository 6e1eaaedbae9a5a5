package kind

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/object"
)

// Unmarshal reads what Marshal wrote, or what a client sent, into a Go struct. JSON is read case-sensitively, and
// fields that the struct does not have are left out.
func Unmarshal(format object.Format, data []byte, into runtime.Object) error {
	if format == object.JSON {
		return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
	}
	unknown, err := openEnvelope(data)
	if err != nil {
		return err
	}
	m, ok := into.(interface{ Unmarshal([]byte) error })
	if !ok {
		return fmt.Errorf("%T has no protobuf form", into)
	}
	return m.Unmarshal(unknown.Raw)
}

// ProtobufHeader reads kind and apiVersion of a protobuf body.
func ProtobufHeader(data []byte) (runtime.TypeMeta, error) {
	unknown, err := openEnvelope(data)
	return unknown.TypeMeta, err
}

// openEnvelope takes a protobuf object out of its envelope. The error is in Kubernetes' words: clients see it.
func openEnvelope(data []byte) (unknown runtime.Unknown, err error) {
	raw, ok := bytes.CutPrefix(data, []byte(object.ProtobufMagic))
	if !ok {
		return unknown, fmt.Errorf("provided data does not appear to be a protobuf message, expected prefix %v", []byte(object.ProtobufMagic))
	}
	err = unknown.Unmarshal(raw)
	return unknown, err
}

// Marshal writes a Go struct with the kind and apiVersion that it carries: JSON without a closing newline, or
// protobuf in its envelope.
func Marshal(format object.Format, obj runtime.Object) ([]byte, error) {
	if carries(obj) {
		return marshalUninitialized(format, obj)
	}
	if format == object.JSON {
		return json.Marshal(obj)
	}
	m, ok := obj.(runtime.ProtobufMarshaller)
	if !ok {
		return nil, fmt.Errorf("%T has no protobuf form", obj)
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}}
	size := uint64(m.Size())
	const magic = uint64(len(object.ProtobufMagic))
	data := make([]byte, magic+uint64(unknown.Size())+size+16)
	copy(data, object.ProtobufMagic)
	n, err := unknown.NestedMarshalTo(data[magic:], m, size)
	return data[:magic+uint64(n)], err
}
