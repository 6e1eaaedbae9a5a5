package wire

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/internal/object"
)

// IncompleteList is the prefix of the warning that a server sends if it leaves objects out of a list because
// it cannot decode them.
const IncompleteList = "incomplete list: "

// ListReader reads a list as it arrives. Each item is copied into its own memory, so that retaining one item
// does not retain the others.
type ListReader struct {
	in   *Stream
	kind metav1.TypeMeta
	// Meta is the metadata of the list, valid after Read.
	Meta metav1.ListMeta
	item func(format object.Format, data []byte)
	// Ready, if set, is offered the message of each item first and must not retain it. If it returns false,
	// the item goes to item instead.
	Ready   func(message []byte) bool
	message []byte // buffer of the last message, reused for the next
	// kindless holds items that arrived before the kind of the list.
	kindless [][]byte
}

// NewListReader returns a reader that passes each item of the list in body to item. The caller closes body.
func NewListReader(body io.ReadCloser, item func(format object.Format, data []byte)) *ListReader {
	return &ListReader{in: NewStream(body), item: item}
}

// Read reads a list in JSON or protobuf.
func (l *ListReader) Read() error {
	first, err := l.in.peek()
	if err != nil {
		return UnexpectedEOF(err)
	}
	if first == object.ProtobufMagic[0] {
		return l.readProtobuf()
	}
	return l.readJSON()
}

// ItemKind returns the kind of the items: items of a typed list do not state their own.
func (l *ListReader) ItemKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(l.kind.APIVersion, strings.TrimSuffix(l.kind.Kind, "List"))
}

func (l *ListReader) readJSON() error {
	if err := l.readFields(); err != nil {
		return err
	}
	for _, data := range l.kindless {
		l.item(object.JSON, withKind(data, l.ItemKind()))
	}
	return nil
}

func (l *ListReader) readFields() error {
	return l.in.each('{', '}', func() error {
		name, err := l.in.value()
		if err != nil {
			return UnexpectedEOF(err)
		}
		var field string
		if utiljson.Unmarshal(name, &field) != nil {
			return fmt.Errorf("%w: %q where the name of a field was expected", ErrUnreadable, name)
		}
		if err := l.in.take(':'); err != nil {
			return err
		}
		if first, err := l.in.peek(); err == nil && first == '[' && field == "items" {
			return l.in.each('[', ']', l.readItem)
		}
		value, err := l.in.value()
		if err != nil {
			return UnexpectedEOF(err)
		}
		return l.readField(field, value)
	})
}

func (l *ListReader) readField(field string, value []byte) error {
	switch field {
	case "kind":
		return utiljson.Unmarshal(value, &l.kind.Kind)
	case "apiVersion":
		return utiljson.Unmarshal(value, &l.kind.APIVersion)
	case "metadata":
		return utiljson.Unmarshal(value, &l.Meta)
	}
	return nil
}

func (l *ListReader) readItem() error {
	data, err := l.in.value()
	if err != nil {
		return UnexpectedEOF(err)
	}
	switch {
	case data[0] != '{' || !lacksKind(data): // a value that is not an object fails in item
		l.item(object.JSON, bytes.Clone(data))
	case l.kind.Kind != "":
		l.item(object.JSON, withKind(data, l.ItemKind()))
	default:
		l.kindless = append(l.kindless, bytes.Clone(data))
	}
	return nil
}

// lacksKind reports whether an object has no kind. It assumes so if the first field is metadata.
func lacksKind(data []byte) bool {
	if bytes.HasPrefix(data, []byte(`{"metadata":`)) {
		return true
	}
	says := false
	c := object.NewCursor(data)
	c.Fields(func(name []byte) bool {
		says = says || string(name) == "kind"
		c.Skip()
		return !says
	})
	return !says
}

// Field numbers of runtime.Unknown (the envelope) and of lists.
const (
	envelopeType = 1
	envelopeRaw  = 2
	listMetadata = 1
	listItem     = 2
)

func (l *ListReader) readProtobuf() error {
	magic := make([]byte, len(object.ProtobufMagic))
	if err := l.in.read(magic); err != nil {
		return err
	}
	if string(magic) != object.ProtobufMagic {
		return fmt.Errorf("%w: it begins with %q", ErrUnreadable, magic)
	}
	listed := false
	for {
		_, err := l.in.field(math.MaxInt, func(n protowire.Number, size int) error {
			switch {
			case n == envelopeType:
				return l.readType(size)
			case n == envelopeRaw && listed:
				return fmt.Errorf("%w: two lists in one", ErrUnreadable)
			case n == envelopeRaw:
				listed = true
				return l.readMessage(size)
			}
			_, err := l.in.bytes(size)
			return err
		})
		if err == io.EOF && listed {
			return nil
		}
		if err != nil {
			return UnexpectedEOF(err)
		}
	}
}

func (l *ListReader) readType(size int) error {
	data, err := l.in.bytes(size)
	if err != nil {
		return err
	}
	var kind runtime.TypeMeta
	if err := kind.Unmarshal(data); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	l.kind = metav1.TypeMeta{Kind: kind.Kind, APIVersion: kind.APIVersion}
	return nil
}

// readMessage reads the message of the list, of the given size.
func (l *ListReader) readMessage(left int) error {
	head := envelopeHead(l.ItemKind())
	for left > 0 {
		after, err := l.in.field(left, func(n protowire.Number, size int) error {
			switch n {
			case listMetadata:
				data, err := l.in.bytes(size)
				if err != nil {
					return err
				}
				return l.Meta.Unmarshal(data)
			case listItem:
				return l.readListItem(head, size)
			}
			_, err := l.in.bytes(size)
			return err
		})
		if err != nil {
			return UnexpectedEOF(err)
		}
		left = after
	}
	return nil
}

// readListItem reads an item of the given size.
func (l *ListReader) readListItem(head []byte, size int) (err error) {
	if l.Ready == nil {
		data, err := l.in.enveloped(head, size)
		if err == nil {
			l.item(object.Protobuf, data)
		}
		return err
	}
	if l.message, err = l.in.appended(l.message[:0], size); err == nil && !l.Ready(l.message) {
		l.item(object.Protobuf, append(protowire.AppendVarint(bytes.Clone(head), uint64(size)), l.message...))
	}
	return err
}

// envelopeHead returns the part of an envelope before the object's message: the type field, and the tag of
// the raw field.
func envelopeHead(kind schema.GroupVersionKind) []byte {
	meta := runtime.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}
	data, _ := meta.Marshal() // marshaling two strings cannot fail
	head := protowire.AppendTag([]byte(object.ProtobufMagic), envelopeType, protowire.BytesType)
	head = protowire.AppendBytes(head, data)
	return protowire.AppendTag(head, envelopeRaw, protowire.BytesType)
}
