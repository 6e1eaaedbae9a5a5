package server

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/object"
)

// listBuffer is the maximum buffer of a list. A write for each item would halve the throughput.
const listBuffer = 64 << 10

// gathering buffers the writes of a list of the given length.
func gathering(w io.Writer, length int) *bufio.Writer {
	return bufio.NewWriterSize(w, min(length, listBuffer))
}

// answerList writes the encodings of the items one after the other. It decodes nothing.
func (c *call) answerList(p *page) error {
	form := c.accept.form(c.endpoint.GroupVersion())
	encodings, err := object.Encodings(p.items, c.codec(), form)
	if err != nil {
		return err
	}
	c.sendWarnings()
	if c.accept.name == mediaProtobuf {
		return c.writeProtobufList(p, encodings)
	}
	head := c.listHead(p.meta)
	if c.accept.name == mediaYAML {
		return c.writeYAMLList(head, encodings)
	}
	c.w.Header().Set("Cache-Control", "no-cache, private")
	c.w.Header().Set("Content-Type", mediaJSON)
	length := len(head) + itemsLength(encodings) + len(listTail)
	c.w.Header().Set("Content-Length", strconv.Itoa(length))
	return bufferedList(c.w, length, head, encodings)
}

const listTail = "]}\n"

// listHead returns a JSON list up to its items.
func (c *call) listHead(m listMeta) []byte {
	var meta any = m.shown()
	if !c.builtin() {
		meta = customListMeta{ResourceVersion: m.revision.String(), Continue: m.next, RemainingItemCount: m.remaining}
	}
	data, _ := json.Marshal(meta) // a struct of strings and numbers always marshals
	head := append([]byte(`{"kind":"`), c.info().ListKind()...)
	head = append(head, `","apiVersion":"`...)
	head = append(head, c.endpoint.APIVersion()...)
	head = append(head, `","metadata":`...)
	head = append(head, data...)
	return append(head, `,"items":[`...)
}

// customListMeta is the metadata of a list of custom resources, in which Kubernetes always writes the
// continue token.
type customListMeta struct {
	Continue           string `json:"continue"`
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
	ResourceVersion    string `json:"resourceVersion"`
}

// itemsLength returns the length of the JSON items with the commas between them.
func itemsLength(items []*object.Encoding) int {
	n := max(len(items)-1, 0)
	for _, e := range items {
		n += e.ItemSize()
	}
	return n
}

func bufferedList(w http.ResponseWriter, length int, head []byte, items []*object.Encoding) error {
	buf := gathering(w, length)
	buf.Write(head)
	for i, e := range items {
		if i > 0 {
			buf.WriteByte(',')
		}
		if err := e.WriteItem(buf); err != nil {
			return nil // the client disconnected; no error can reach it
		}
	}
	buf.WriteString(listTail)
	buf.Flush()
	return nil
}

func (c *call) writeYAMLList(head []byte, items []*object.Encoding) error {
	data := head
	for i, e := range items {
		if i > 0 {
			data = append(data, ',')
		}
		data = e.AppendItem(data)
	}
	data = append(data, listTail...)
	writeBody(c.w, http.StatusOK, mediaYAML, data)
	return nil
}

// writeProtobufList writes the envelope, the list's metadata (field 1) and the items (field 2).
func (c *call) writeProtobufList(p *page, items []*object.Encoding) error {
	metaBytes, err := p.meta.shown().Marshal()
	if err != nil {
		return err
	}
	list := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), metaBytes)
	size := len(list)
	for _, e := range items {
		size += e.ItemSize()
	}
	head, tail, err := envelope(c.endpoint.APIVersion(), c.info().ListKind(), size)
	if err != nil {
		return err
	}
	c.w.Header().Set("Cache-Control", "no-cache, private")
	c.w.Header().Set("Content-Type", mediaProtobuf)
	length := len(head) + size + len(tail)
	c.w.Header().Set("Content-Length", strconv.Itoa(length))
	buf := gathering(c.w, length)
	buf.Write(head)
	buf.Write(list)
	for _, e := range items {
		if err := e.WriteItem(buf); err != nil {
			return nil // the client disconnected
		}
	}
	buf.Write(tail)
	buf.Flush()
	return nil
}

// envelope returns the bytes before and after a protobuf message of the given size.
func envelope(apiVersion, kind string, size int) (head, tail []byte, err error) {
	meta := runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}
	typeMeta, err := meta.Marshal()
	if err != nil {
		return nil, nil, err
	}
	head = append(head, object.ProtobufMagic...)
	head = protowire.AppendBytes(protowire.AppendTag(head, 1, protowire.BytesType), typeMeta)
	head = protowire.AppendVarint(protowire.AppendTag(head, 2, protowire.BytesType), uint64(size))
	tail = protowire.AppendString(protowire.AppendTag(nil, 3, protowire.BytesType), "")
	tail = protowire.AppendString(protowire.AppendTag(tail, 4, protowire.BytesType), "")
	return head, tail, nil
}

// enveloped returns a whole protobuf body.
func enveloped(apiVersion, kind string, message []byte) ([]byte, error) {
	head, tail, err := envelope(apiVersion, kind, len(message))
	return slices.Concat(head, message, tail), err
}
