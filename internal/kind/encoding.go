package kind

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/object"
)

// Unmarshal decodes the output of Marshal, or the body of a request, into a Go struct. JSON keys are matched
// case-sensitively, and fields that the struct does not have are ignored.
func Unmarshal(format object.Format, data []byte, into runtime.Object) error {
	if format == object.JSON {
		return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
	}
	unknown, err := decodeEnvelope(data)
	if err != nil {
		return err
	}
	m, ok := into.(interface{ Unmarshal([]byte) error })
	if !ok {
		return fmt.Errorf("%T has no protobuf form", into)
	}
	return m.Unmarshal(unknown.Raw)
}

// ProtobufHeader returns the kind and apiVersion of a protobuf body.
func ProtobufHeader(data []byte) (runtime.TypeMeta, error) {
	unknown, err := decodeEnvelope(data)
	return unknown.TypeMeta, err
}

// decodeEnvelope decodes the envelope of a protobuf object. The error has Kubernetes' wording, because clients
// receive it.
func decodeEnvelope(data []byte) (unknown runtime.Unknown, err error) {
	raw, ok := bytes.CutPrefix(data, []byte(object.ProtobufMagic))
	if !ok {
		return unknown, fmt.Errorf("provided data does not appear to be a protobuf message, expected prefix %v",
			[]byte(object.ProtobufMagic))
	}
	if unknown, ok := decodePlainEnvelope(raw); ok {
		return unknown, nil
	}
	err = unknown.Unmarshal(raw)
	return unknown, err
}

// Field numbers of runtime.Unknown, the envelope.
const (
	envelopeType            = 1
	envelopeRaw             = 2
	envelopeContentEncoding = 3
	envelopeContentType     = 4
)

// decodePlainEnvelope decodes an envelope that has no unknown fields. The result shares memory with data: unlike the
// library, decodePlainEnvelope does not copy the object, because decoding the object copies what it retains.
func decodePlainEnvelope(data []byte) (unknown runtime.Unknown, ok bool) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 || kind != protowire.BytesType {
			return unknown, false
		}
		value, length := protowire.ConsumeBytes(data[n:])
		if length < 0 {
			return unknown, false
		}
		data = data[n+length:]
		switch number {
		case envelopeType:
			if unknown.TypeMeta.Unmarshal(value) != nil {
				return unknown, false
			}
		case envelopeRaw:
			unknown.Raw = value
		case envelopeContentEncoding:
			unknown.ContentEncoding = string(value)
		case envelopeContentType:
			unknown.ContentType = string(value)
		}
	}
	return unknown, true
}

// Marshal encodes a Go struct with the kind and apiVersion set in it: as JSON without a trailing newline, or
// as protobuf in its envelope.
func Marshal(format object.Format, obj runtime.Object) ([]byte, error) {
	if carriesInitializers(obj) {
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
