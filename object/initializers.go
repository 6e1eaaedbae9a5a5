package object

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// InitializersField is the entry in Fields of an object that initializers have still to act on; it names them. Who lists or
// watches does not see such an object unless they ask to. No field selector reaches the entry.
const InitializersField = "metadata.initializers"

// UninitializedMark is in the mark of such an object, and of some others.
var UninitializedMark = MarkKey(InitializersField)

// Uninitialized says that initializers have still to act on the object.
func (h *Header) Uninitialized() bool {
	if !h.mark.MayHave(UninitializedMark) {
		return false
	}
	_, is := h.Fields[InitializersField]
	return is
}

// setMark makes the mark of a header that has all else.
func (h *Header) setMark() {
	h.mark = markOf(h.Labels)
	if _, is := h.Fields[InitializersField]; is {
		h.mark |= UninitializedMark
	}
}

// ConcernsUninitialized says that the object is, or was before the change, one that not everybody sees.
func (e *Event) ConcernsUninitialized() bool {
	return e.Object.Uninitialized() || e.Previous != nil && e.Previous.Uninitialized()
}

// metaInitializers is the field number of ObjectMeta.initializers, which Kubernetes had until 1.15 and has given to nothing else.
const metaInitializers = 16

// jsonInitializers is how an uninitialized object of a typed kind goes on after its kind and apiVersion.
const jsonInitializers = `"metadata":{"initializers":`

var errNoMetadata = errors.New("an encoding has no metadata to put initializers into")

// Initializers is metadata.initializers of an encoding, where PutInitializers put it: JSON, or a message, and a part of data. nil
// when there is none, which is found out at next to no cost.
func Initializers(format Format, data []byte) []byte {
	if format == Protobuf {
		return protobufInitializers(data)
	}
	at := int(typedPrefix(data))
	if !bytes.HasPrefix(data[at:], []byte(jsonInitializers)) {
		return nil
	}
	at += len(jsonInitializers)
	return data[at:jsonValueEnd(data, at)]
}

// protobufInitializers also reads what no server wrote.
func protobufInitializers(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte(ProtobufMagic)) {
		return nil
	}
	from, to := len(ProtobufMagic), len(data)
	for _, number := range []protowire.Number{unknownRaw, objectMetadata, metaInitializers} {
		var ok bool
		if from, to, ok = protobufField(data, from, to, number); !ok {
			return nil
		}
	}
	return data[from:to]
}

// PutInitializers is the encoding of an object of a typed kind with metadata.initializers, which it had not.
func PutInitializers(format Format, data, initializers []byte) ([]byte, error) {
	if format == Protobuf {
		return putProtobufInitializers(data, initializers)
	}
	at := int(typedPrefix(data))
	rest, ok := bytes.CutPrefix(data[at:], []byte(`"metadata":{`))
	if !ok {
		return nil, errNoMetadata
	}
	out := make([]byte, 0, len(data)+len(jsonInitializers)+len(initializers))
	out = append(append(append(out, data[:at]...), jsonInitializers...), initializers...)
	if rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...), nil
}

func putProtobufInitializers(data, initializers []byte) ([]byte, error) {
	envelope, ok := bytes.CutPrefix(data, []byte(ProtobufMagic))
	if !ok {
		return nil, errNoMetadata
	}
	whole := spliceField(envelope, unknownRaw, func(raw []byte) []byte {
		return spliceField(raw, objectMetadata, func(meta []byte) []byte {
			meta = protowire.AppendTag(bytes.Clone(meta), metaInitializers, protowire.BytesType)
			return protowire.AppendBytes(meta, initializers)
		})
	})
	return append([]byte(ProtobufMagic), whole...), nil
}
