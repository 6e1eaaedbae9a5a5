package object

import (
	"bufio"

	"google.golang.org/protobuf/encoding/protowire"
)

// AppendItem appends the object as an item of a list. In protobuf, that includes the field tag and length.
func (e *Encoding) AppendItem(dst []byte) []byte {
	return append(e.appendItemHead(dst), e.data[e.item:e.itemEnd]...)
}

// WriteItem writes the bytes of AppendItem to w, copying them once. It returns the error of w, which is
// sticky.
func (e *Encoding) WriteItem(w *bufio.Writer) error {
	w.Write(e.appendItemHead(w.AvailableBuffer()))
	_, err := w.Write(e.data[e.item:e.itemEnd])
	return err
}

// appendItemHead appends the bytes before the object's own.
func (e *Encoding) appendItemHead(dst []byte) []byte {
	switch {
	case e.Form.Format == Protobuf:
		dst = protowire.AppendTag(dst, 2, protowire.BytesType)
		return protowire.AppendVarint(dst, uint64(e.itemEnd-e.item))
	case e.item > 0:
		return append(dst, '{')
	}
	return dst
}

// ItemSize returns the number of bytes that AppendItem appends.
func (e *Encoding) ItemSize() int {
	body := int(e.itemEnd - e.item)
	if e.Form.Format == Protobuf {
		return protowire.SizeTag(2) + protowire.SizeBytes(body)
	}
	if e.item > 0 {
		body++
	}
	return body
}
