package object

import (
	"bytes"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Format is the wire format of an encoding.
type Format uint8

// The formats in which objects are stored. YAML is converted from JSON on demand and never stored.
const (
	JSON Format = iota
	Protobuf
)

// String returns the media type of the format.
func (f Format) String() string {
	if f == Protobuf {
		return "application/vnd.kubernetes.protobuf"
	}
	return "application/json"
}

// Form identifies an encoding of an object: the apiVersion it is written in and the wire format.
type Form struct {
	APIVersion string
	Format     Format
}

// RevisionPlaceholder is the metadata.resourceVersion that encoders write, because the revision is not known
// before the commit. It has as many digits as the revisions of a memory store, so that setting a revision
// overwrites it in place.
const RevisionPlaceholder = "0000000000000000"

// ProtobufMagic is the prefix of every Kubernetes protobuf body. The envelope, a runtime.Unknown, follows it.
const ProtobufMagic = "k8s\x00"

// Encoding is an object in one form: its bytes and the positions in them of the revision and of the part that
// lists use as an item. It is immutable once its object is committed.
type Encoding struct {
	Form Form
	// data is the whole body as a GET returns it, for JSON without the trailing newline.
	data []byte
	// revision is the position of the digits of resourceVersion, width their number.
	revision, width int32
	// item is the position at which a list item begins. In JSON it is after kind and apiVersion, which typed
	// lists omit from their items, or 0 if items are whole. In protobuf it is after the envelope's header.
	item int32
	// itemEnd is the position at which the list item ends.
	itemEnd int32
}

// NewEncoding returns an encoding of data, which an encoder made, and takes ownership of data. The JSON of a
// typed object must begin with kind and apiVersion, which list items omit; the JSON of custom resources
// begins with apiVersion, and their list items are whole. It returns an error if data has no
// metadata.resourceVersion.
func NewEncoding(form Form, data []byte) (Encoding, error) {
	e := Encoding{Form: form, data: data, itemEnd: int32(len(data))}
	if form.Format == Protobuf {
		return e, e.locateProtobuf()
	}
	return e, e.locateJSON()
}

// Bytes returns the whole body. The caller must not modify it.
func (e *Encoding) Bytes() []byte { return e.data }

// digits returns the digits of the revision in the data.
func (e *Encoding) digits() []byte { return e.data[e.revision : e.revision+e.width] }

// EqualExceptRevision reports whether two encodings in the same form differ only in the revision.
func (e *Encoding) EqualExceptRevision(other *Encoding) bool {
	a, b := e.revision+e.width, other.revision+other.width
	return bytes.Equal(e.data[a:], other.data[b:]) && bytes.Equal(e.data[:e.revision], other.data[:other.revision])
}

// stamp writes the revision. Only the writer of an object may call it, before anything else can read the
// object.
func (e *Encoding) stamp(r Revision) error {
	digits := strconv.AppendUint(make([]byte, 0, 20), uint64(r), 10)
	if len(digits) == int(e.width) {
		copy(e.data[e.revision:], digits)
		return nil
	}
	if e.Form.Format == Protobuf {
		return e.respliceProtobuf(digits)
	}
	data := make([]byte, 0, len(e.data)+len(digits))
	data = append(data, e.data[:e.revision]...)
	data = append(data, digits...)
	data = append(data, e.data[e.revision+e.width:]...)
	fresh, err := NewEncoding(e.Form, data)
	*e = fresh
	return err
}

// restamped returns a copy of e with revision r.
func (e *Encoding) restamped(r Revision) (Encoding, error) {
	c := *e
	c.data = bytes.Clone(e.data)
	err := c.stamp(r)
	return c, err
}

// locateJSON finds metadata.resourceVersion and the end of a leading kind and apiVersion.
func (e *Encoding) locateJSON() error {
	e.item = typedPrefix(e.data)
	meta, ok := jsonField(e.data, 0, "metadata")
	if !ok {
		return e.lacks("metadata")
	}
	at, ok := jsonField(e.data, meta, "resourceVersion")
	if !ok || e.data[at] != '"' {
		return e.lacks("metadata.resourceVersion")
	}
	width := bytes.IndexByte(e.data[at+1:], '"')
	if width < 0 {
		return e.lacks("end")
	}
	e.revision, e.width = int32(at+1), int32(width)
	return nil
}

// lacks returns the error for data that lacks a part which every encoded object has.
func (e *Encoding) lacks(what string) error {
	return fmt.Errorf("the encoding in %s as %s has no %s", e.Form.APIVersion, e.Form.Format, what)
}

// typedPrefix returns the length of `{"kind":"...","apiVersion":"...",` at the start of data, or 0.
func typedPrefix(data []byte) int32 {
	const kind, version = `{"kind":"`, `","apiVersion":"`
	if !bytes.HasPrefix(data, []byte(kind)) {
		return 0
	}
	i := bytes.IndexByte(data[len(kind):], '"') + len(kind)
	if !bytes.HasPrefix(data[i:], []byte(version)) {
		return 0
	}
	i += len(version)
	i += bytes.IndexByte(data[i:], '"') + 1
	if i < len(data) && data[i] == ',' {
		i++
	}
	return int32(i)
}

// jsonField returns the position of the value of a field of the object that begins at data[at]. The position
// lies within the data. Encoders write valid JSON without white space between tokens; for any other data the
// result may be any position, or false.
func jsonField(data []byte, at int, name string) (int, bool) {
	if at >= len(data) || data[at] != '{' {
		return 0, false
	}
	for i := at + 1; i < len(data) && data[i] == '"'; {
		end := jsonStringEnd(data, i)
		value := end + 1
		if value >= len(data) {
			return 0, false
		}
		if string(data[i+1:end-1]) == name {
			return value, true
		}
		i = jsonValueEnd(data, value) + 1
	}
	return 0, false
}

// jsonStringEnd returns the position after the string that begins at data[i]. It is beyond the data if the
// string does not end.
func jsonStringEnd(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// jsonValueEnd returns the position after the value that begins at data[i], at most len(data).
func jsonValueEnd(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = jsonStringEnd(data, i) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 || i+1 < len(data) && data[i+1] != ',' && data[i+1] != '}' && data[i+1] != ']' {
				continue
			}
		}
		if depth <= 0 {
			break
		}
	}
	return min(i+1, len(data))
}

// Field numbers in the protobuf envelope (runtime.Unknown), in objects and in ObjectMeta.
const (
	unknownRaw          = 2
	objectMetadata      = 1
	metaResourceVersion = 6
)

// locateProtobuf finds the raw object in its envelope, and the revision in its metadata.
func (e *Encoding) locateProtobuf() error {
	if !bytes.HasPrefix(e.data, []byte(ProtobufMagic)) {
		return e.lacks("envelope")
	}
	raw, rawEnd, ok := protobufField(e.data, len(ProtobufMagic), len(e.data), unknownRaw)
	if !ok {
		return e.lacks("object in the envelope")
	}
	e.item, e.itemEnd = int32(raw), int32(rawEnd)
	meta, metaEnd, ok := protobufField(e.data, raw, rawEnd, objectMetadata)
	if !ok {
		return e.lacks("metadata")
	}
	at, end, ok := protobufField(e.data, meta, metaEnd, metaResourceVersion)
	if !ok {
		return e.lacks("metadata.resourceVersion")
	}
	e.revision, e.width = int32(at), int32(end-at)
	return nil
}

// protobufField returns the bounds of the value of a length-delimited field of the message data[from:to].
func protobufField(data []byte, from, to int, number protowire.Number) (start, end int, ok bool) {
	for i := from; i < to; {
		n, kind, size := protowire.ConsumeTag(data[i:to])
		if size < 0 {
			return 0, 0, false
		}
		i += size
		length := protowire.ConsumeFieldValue(n, kind, data[i:to])
		if length < 0 {
			return 0, 0, false
		}
		if n == number && kind == protowire.BytesType {
			_, prefix := protowire.ConsumeVarint(data[i:to])
			return i + prefix, i + length, true
		}
		i += length
	}
	return 0, 0, false
}

// respliceProtobuf replaces the revision by digits of another width and updates the three enclosing lengths.
func (e *Encoding) respliceProtobuf(digits []byte) error {
	raw := e.data[e.item:e.itemEnd]
	fresh := spliceField(raw, objectMetadata, func(meta []byte) []byte {
		return spliceField(meta, metaResourceVersion, func([]byte) []byte { return digits })
	})
	head := len(ProtobufMagic)
	data := append([]byte(ProtobufMagic), spliceField(e.data[head:], unknownRaw, func([]byte) []byte {
		return fresh
	})...)
	var err error
	*e, err = NewEncoding(e.Form, data)
	return err
}

// spliceField returns message with the value of one length-delimited field replaced.
func spliceField(message []byte, number protowire.Number, replace func([]byte) []byte) []byte {
	start, end, ok := protobufField(message, 0, len(message), number)
	if !ok {
		return message
	}
	value := replace(message[start:end])
	prefix := start - protowire.SizeVarint(uint64(end-start))
	out := append(make([]byte, 0, len(message)+len(value)), message[:prefix]...)
	out = protowire.AppendBytes(out, value)
	return append(out, message[end:]...)
}
