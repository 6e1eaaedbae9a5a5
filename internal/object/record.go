package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"k8s.io/apimachinery/pkg/types"
)

// A record is the stored form of an object, outside of memory. It has everything needed to serve the object
// without decoding it.
//
//	checksum   4 bytes, CRC-32C of the rest, little endian
//	version    1 byte
//	head       its length, then: the writer's stamp, the form, positions in the data, the UID, labels, selectable
//	           fields, owners
//	data       the first encoding, as it is served
//
// Numbers are unsigned varints; texts are prefixed with their length. The key and the revision are not part
// of the record: storage indexes records by them, and the data contains them too.
const recordVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged is wrapped by the errors of Reader.Read for records that AppendRecord did not write.
var ErrDamaged = errors.New("the record is damaged")

// AppendRecord appends the object's record, for Reader.Read.
func (o *Object) AppendRecord(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, recordVersion)
	head := o.appendHead(make([]byte, 0, 256))
	dst = appendText(dst, head)
	dst = append(dst, o.first.data...)
	binary.LittleEndian.PutUint32(dst[start:], crc32.Checksum(dst[start+4:], castagnoli))
	return dst
}

func (o *Object) appendHead(dst []byte) []byte {
	e := &o.first
	dst = binary.AppendUvarint(dst, uint64(o.stamp))
	dst = append(dst, byte(e.Form.Format))
	dst = appendText(dst, e.Form.APIVersion)
	for _, position := range []int32{e.revision, e.width, e.item, e.itemEnd} {
		dst = binary.AppendUvarint(dst, uint64(position))
	}
	dst = appendText(dst, o.UID)
	dst = appendTexts(dst, o.Labels)
	dst = appendTexts(dst, o.Fields)
	dst = binary.AppendUvarint(dst, uint64(len(o.Owners)))
	for _, owner := range o.Owners {
		dst = appendText(dst, owner)
	}
	return dst
}

func appendText[T ~string | ~[]byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

func appendTexts(dst []byte, texts map[string]string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(texts)))
	for name, value := range texts {
		dst = appendText(appendText(dst, name), value)
	}
	return dst
}

// Reader makes objects from records. Objects with equal namespaces, label names and other short texts
// share one string. It must not be
// used concurrently; the zero value is ready to use.
type Reader struct{ common map[string]string }

// Read returns the committed object of a record. It copies what it retains. It returns ErrDamaged if the
// record is not intact.
func (r *Reader) Read(key Key, revision Revision, record []byte) (*Object, error) {
	if len(record) < 5 || binary.LittleEndian.Uint32(record) != crc32.Checksum(record[4:], castagnoli) {
		return nil, fmt.Errorf("%s at revision %d: %w: its checksum does not match", key, revision,
			ErrDamaged)
	}
	if err := CheckKey(key); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if version := record[4]; version != recordVersion {
		return nil, fmt.Errorf("%s at revision %d: its record has version %d, but this program reads versions up to %d",
			key, revision, version, recordVersion)
	}
	length, n := binary.Uvarint(record[5:])
	if n <= 0 || length > uint64(len(record)-5-n) {
		return nil, fmt.Errorf("%s at revision %d: %w: its head is longer than the record", key, revision, ErrDamaged)
	}
	body := record[5+n:]
	h := head{rest: string(body[:length])} // one string, of which all texts are substrings
	o := &Object{Header: Header{Key: key}, Revision: revision, first: Encoding{data: bytes.Clone(body[length:])}}
	r.readHead(&h, o)
	if h.failed || h.rest != "" || !o.first.validPositions() || o.first.Form.Format > Protobuf {
		return nil, fmt.Errorf("%s at revision %d: %w: its head is malformed", key, revision, ErrDamaged)
	}
	if !ValidUID(o.UID) {
		return nil, fmt.Errorf("%s at revision %d: %w: its uid %q is not one", key, revision, ErrDamaged, o.UID)
	}
	o.setMark()
	return o, nil
}

func (r *Reader) readHead(h *head, o *Object) {
	e := &o.first
	o.stamp = Stamp(h.number())
	e.Form.Format = Format(h.byte())
	e.Form.APIVersion = r.share(h.text())
	for _, position := range []*int32{&e.revision, &e.width, &e.item, &e.itemEnd} {
		*position = int32(h.number())
	}
	o.UID = types.UID(h.text())
	o.Labels = r.texts(h)
	o.Fields = r.texts(h)
	if n := h.count(); n > 0 {
		o.Owners = make([]types.UID, n)
		for i := range o.Owners {
			o.Owners[i] = types.UID(h.text())
		}
	}
}

// validPositions reports whether the positions lie within the data.
func (e *Encoding) validPositions() bool {
	end := int32(len(e.data))
	return 0 <= e.revision && 0 <= e.width && e.width <= 20 && e.revision <= end-e.width &&
		0 <= e.item && e.item <= e.itemEnd && e.itemEnd <= end
}

func (r *Reader) texts(h *head) map[string]string {
	n := h.count()
	if n == 0 {
		return nil
	}
	texts := make(map[string]string, n)
	for range n {
		name := r.share(h.text())
		texts[name] = h.text()
	}
	return texts
}

// share returns an equal string read before, if any. It is used for versions and label keys.
func (r *Reader) share(text string) string {
	if known, ok := r.common[text]; ok {
		return known
	}
	if r.common == nil || len(r.common) == maxCommon {
		r.common = map[string]string{}
	}
	r.common[text] = text
	return text
}

// maxCommon bounds the number of strings that a Reader retains.
const maxCommon = 1024

// head is the unread rest of a record's head. Reading past its end returns zero and sets failed.
type head struct {
	rest   string
	failed bool
}

func (h *head) byte() byte {
	if h.rest == "" {
		h.failed = true
		return 0
	}
	b := h.rest[0]
	h.rest = h.rest[1:]
	return b
}

func (h *head) number() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := h.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	h.failed = true
	return 0
}

// count reads a number of following items, each of which has at least one byte.
func (h *head) count() uint64 {
	n := h.number()
	if n > uint64(len(h.rest)) {
		h.failed = true
		return 0
	}
	return n
}

func (h *head) text() string {
	n := h.count()
	text := h.rest[:n]
	h.rest = h.rest[n:]
	return text
}
