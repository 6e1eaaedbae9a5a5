package object

import (
	"bytes"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Format is how the bytes of an encoding are to be read.
type Format uint8

// The formats that objects are kept in. YAML is made from JSON when it is asked for and never kept.
const (
	JSON Format = iota
	Protobuf
)

// String is the format's media type.
func (f Format) String() string {
	if f == Protobuf {
		return "application/vnd.kubernetes.protobuf"
	}
	return "application/json"
}

// Form names one encoding of an object: the apiVersion that it is written in, and the format.
type Form struct {
	APIVersion string
	Format     Format
}

// RevisionPlaceholder is what an encoder puts into metadata.resourceVersion, since the revision is only known when
// the object is committed. It is as wide as the revisions of a memory store, so that stamping one is a copy in place.
const RevisionPlaceholder = "0000000000000000"

// ProtobufMagic begins every Kubernetes protobuf body; a runtime.Unknown, the envelope, follows it.
const ProtobufMagic = "k8s\x00"

// Encoding is an object in one form: its bytes, and where in them the revision and the part that a list repeats stand.
// After its object is committed it is immutable.
type Encoding struct {
	Form Form
	// data is the whole body, as a GET serves it (JSON without the closing newline).
	data []byte
	// revision is where the digits of resourceVersion begin, and width how many they are.
	revision, width int32
	// item is where the object begins as an item of a list. JSON: after kind and apiVersion, which typed lists leave out
	// (0: items are whole). Protobuf: after the envelope.
	item int32
	// itemEnd is where it ends.
	itemEnd int32
}

// NewEncoding takes the bytes that an encoder made and finds what it needs to know in them; it keeps data. A typed
// object's JSON begins with kind and apiVersion, which its list items leave out; a custom resource's items keep them.
func NewEncoding(form Form, data []byte) (Encoding, error) {
	e := Encoding{Form: form, data: data, itemEnd: int32(len(data))}
	if form.Format == Protobuf {
		return e, e.locateProtobuf()
	}
	return e, e.locateJSON()
}

// Bytes is the whole body. The caller must not change it.
func (e *Encoding) Bytes() []byte { return e.data }

// digits are those of the revision, as they stand in the data.
func (e *Encoding) digits() []byte { return e.data[e.revision : e.revision+e.width] }

// EqualExceptRevision says whether two encodings of one form differ in nothing but the revision.
func (e *Encoding) EqualExceptRevision(other *Encoding) bool {
	a, b := e.revision+e.width, other.revision+other.width
	return bytes.Equal(e.data[a:], other.data[b:]) && bytes.Equal(e.data[:e.revision], other.data[:other.revision])
}

// stamp writes the revision. Only the writer of an object that nobody else sees yet may call it.
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

// restamped is a copy that carries another revision.
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

// lacks is the error of bytes that no encoder of objects made.
func (e *Encoding) lacks(what string) error {
	return fmt.Errorf("the encoding in %s as %s has no %s", e.Form.APIVersion, e.Form.Format, what)
}

// typedPrefix is the length of `{"kind":"...","apiVersion":"...",` at the start of data, or 0.
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

// jsonField returns where the value of a field of the object that begins at data[at] begins, which is within the data. What
// came from an encoder is valid and has no white space between tokens; of what did not, any place may be found, or none.
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

// jsonStringEnd is just after the string that begins at data[i], and behind the data when that does not end in it.
func jsonStringEnd(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// jsonValueEnd is just after the value that begins at data[i], or the end of the data.
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

// Field numbers of the protobuf envelope (runtime.Unknown), of an object and of its ObjectMeta.
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

// protobufField returns where the value of a length-delimited field of the message data[from:to] begins and ends.
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

// respliceProtobuf replaces the revision by digits of another width, and the three lengths that enclose it.
func (e *Encoding) respliceProtobuf(digits []byte) error {
	raw := e.data[e.item:e.itemEnd]
	fresh := spliceField(raw, objectMetadata, func(meta []byte) []byte {
		return spliceField(meta, metaResourceVersion, func([]byte) []byte { return digits })
	})
	head := len(ProtobufMagic)
	data := append([]byte(ProtobufMagic), spliceField(e.data[head:], unknownRaw, func([]byte) []byte { return fresh })...)
	var err error
	*e, err = NewEncoding(e.Form, data)
	return err
}

// spliceField is message with the value of one length-delimited field replaced.
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
