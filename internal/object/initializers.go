package object

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// InitializersField is the entry in Fields that names the pending initializers of an uninitialized object.
// Lists and watches omit such objects unless asked to include them. Field selectors cannot select by this
// entry.
const InitializersField = "metadata.initializers"

// UninitializedMark is part of the mark of every uninitialized object; other objects may have it by
// collision.
var UninitializedMark = MarkKey(InitializersField)

// Uninitialized reports whether the object has pending initializers.
func (h *Header) Uninitialized() bool {
	if !h.mark.MayHave(UninitializedMark) {
		return false
	}
	_, is := h.Fields[InitializersField]
	return is
}

// setMark computes the mark from the labels and fields.
func (h *Header) setMark() {
	h.mark = markOf(h.Labels)
	if _, is := h.Fields[InitializersField]; is {
		h.mark |= UninitializedMark
	}
}

// ConcernsUninitialized reports whether the object is uninitialized, or was before the change.
func (e *Event) ConcernsUninitialized() bool {
	return e.Object.Uninitialized() || e.Previous != nil && e.Previous.Uninitialized()
}

// metaInitializers is the field number of ObjectMeta.initializers, which Kubernetes removed in 1.16 and has
// not reused.
const metaInitializers = 16

// jsonInitializers follows kind and apiVersion in the JSON of an uninitialized object of a typed kind.
const jsonInitializers = `"metadata":{"initializers":`

var errNoMetadata = errors.New("an encoding has no metadata to put initializers into")

// Initializers returns metadata.initializers of an encoding made by PutInitializers, as JSON or as a message,
// or nil if it has none. The result aliases data. The check for encodings without initializers is cheap.
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

// protobufInitializers accepts any data, also data that no server encoded.
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

// PutInitializers returns the encoding of an object of a typed kind with metadata.initializers added. The
// encoding must not have initializers yet.
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
