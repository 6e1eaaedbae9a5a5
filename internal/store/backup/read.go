package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/internal/object"
)

// Reader reads a backup once. It must be used by one goroutine.
type Reader struct {
	in   *bufio.Reader
	head Head

	sum     hash.Hash // of everything read
	total   []byte    // the value of sum before the trailer
	offset  int64     // of the next byte to read
	objects object.Reader
	last    object.Key
	whole   int // number of objects read
	damaged int // number of damaged entries
}

// Open reads the start of a backup. It returns ErrForeign, *VersionError or *CutError if the stream is not a
// complete backup of a supported version, and otherwise the error of r or a description of what is wrong with
// the head.
func Open(r io.Reader) (*Reader, error) {
	b := &Reader{in: bufio.NewReaderSize(r, bufferSize), sum: sha256.New()}
	if err := b.readMagic(); err != nil {
		return nil, err
	}
	e, err := b.next()
	var damage *DamagedError
	switch {
	case errors.As(err, &damage):
		return nil, &wrongError{"its head cannot be decoded: " + damage.Reason}
	case err != nil:
		return nil, b.cut(err)
	case e.kind != entryHead:
		return nil, &wrongError{"it has no head"}
	}
	if err := json.Unmarshal(e.data, &b.head); err != nil {
		return nil, &wrongError{"its head cannot be decoded: " + err.Error()}
	}
	if err := b.head.check(); err != nil {
		return nil, &wrongError{"its head is wrong: " + err.Error()}
	}
	return b, nil
}

// Head returns the head of the backup.
func (b *Reader) Head() Head { return b.head }

// Objects yields the objects in key order; the caller owns them. It yields *DamagedError in place of a
// damaged object, and *InconsistentError with an object that contradicts its key, and continues after both. Any
// other error is final: *CutError, an error of the stream, or an inconsistency of the backup. Without a final
// error every entry was read or reported. Objects may be ranged over once.
func (b *Reader) Objects() iter.Seq2[*object.Object, error] {
	return func(yield func(*object.Object, error) bool) {
		for {
			o, err := b.object()
			if err == io.EOF {
				return
			}
			if !yield(o, err) || err != nil && !isOfOneObject(err) {
				return
			}
		}
	}
}

// isOfOneObject reports whether reading may continue after an error.
func isOfOneObject(err error) bool {
	_, damaged := errors.AsType[*DamagedError](err)
	_, inconsistent := errors.AsType[*InconsistentError](err)
	return damaged || inconsistent
}

// object returns the next object, io.EOF after the trailer.
func (b *Reader) object() (*object.Object, error) {
	start := b.offset
	e, err := b.next()
	var damage *DamagedError
	switch {
	case errors.As(err, &damage):
		b.damaged++
		return nil, err
	case err != nil:
		return nil, b.cut(err)
	case e.kind == entryTrailer:
		return nil, b.end(e)
	case e.kind != entryObject:
		return nil, &wrongError{fmt.Sprintf("no object at byte %d", start)}
	case e.key <= b.last:
		return nil, &wrongError{fmt.Sprintf("%s follows %s: not in order", e.key, b.last)}
	case e.revision > b.head.Revision:
		return nil, &wrongError{fmt.Sprintf("%s is of revision %d, and the backup of %d", e.key, e.revision,
			b.head.Revision)}
	}
	b.last = e.key
	o, err := b.objects.Read(e.key, e.revision, e.data)
	if err == nil {
		err = object.CheckEncoding(o)
	}
	if err != nil {
		b.damaged++
		return nil, &DamagedError{Key: e.key, Offset: start, Reason: err.Error()}
	}
	b.whole++
	if err := object.CheckIdentity(o); err != nil {
		return o, &InconsistentError{Key: e.key, Reason: err.Error()}
	}
	return o, nil
}

// end compares what was read with the trailer. It returns io.EOF if they match, or if damage was already
// reported.
func (b *Reader) end(e *entry) error {
	var t trailer
	if err := json.Unmarshal(e.data, &t); err != nil {
		return &wrongError{"its trailer cannot be decoded: " + err.Error()}
	}
	if _, err := b.in.ReadByte(); err != io.EOF {
		if err == nil {
			err = &wrongError{"data after its end"}
		}
		return err
	}
	switch {
	case b.damaged > 0:
		return io.EOF
	case b.head.Objects != t.Objects:
		return &wrongError{fmt.Sprintf("its head has %d objects, and its trailer %d", b.head.Objects, t.Objects)}
	case t.Objects != b.whole:
		return &wrongError{fmt.Sprintf("it has %d objects, want %d", b.whole, t.Objects)}
	case t.SHA256 != hex.EncodeToString(b.total):
		return &wrongError{"the checksum of the backup does not match"}
	}
	return io.EOF
}

// cut converts the end of the stream to *CutError.
func (b *Reader) cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &CutError{Read: b.whole, Objects: b.head.Objects}
	}
	return err
}

// readMagic reads the first line.
func (b *Reader) readMagic() error {
	const longest = len(magic) + 10
	line, err := b.in.Peek(longest)
	if err != nil && err != io.EOF {
		return err
	}
	end := bytes.IndexByte(line, '\n')
	text := string(line[:max(end, 0)])
	number, ours := strings.CutPrefix(text, magic)
	switch {
	case end < 0 && len(line) < longest && strings.HasPrefix(magic, string(line[:min(len(line), len(magic))])) &&
		len(line) > 0:
		return &CutError{}
	case !ours:
		return ErrForeign
	case number != strconv.Itoa(version):
		return &VersionError{Version: number}
	}
	return b.skip(end + 1)
}

// next reads an entry. It returns io.EOF or io.ErrUnexpectedEOF at the end of the stream; after *DamagedError
// the stream is positioned at the next possible entry.
func (b *Reader) next() (*entry, error) {
	start := b.offset
	fixed, err := b.in.Peek(fixedSize)
	if err != nil {
		return nil, err
	}
	keySize := int(binary.LittleEndian.Uint16(fixed[len(marker)+1:]))
	dataSize := int(binary.LittleEndian.Uint32(fixed[len(marker)+3:]))
	size := fixedSize + keySize + checksumSize
	head, err := b.in.Peek(size)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(head) < size || !bytes.HasPrefix(head, []byte(marker)) || !summed(head) || dataSize > largestData {
		return nil, b.lost(start)
	}
	e := &entry{kind: head[len(marker)], revision: object.Revision(binary.LittleEndian.Uint64(head[len(marker)+7:])),
		key: object.Key(head[fixedSize : fixedSize+keySize])}
	if e.kind == entryTrailer {
		b.total = b.sum.Sum(nil)
	}
	if err := b.skip(size); err != nil {
		return nil, err
	}
	if e.data, err = b.data(dataSize); err != nil {
		return nil, err
	}
	if !summed(e.data) {
		return nil, &DamagedError{Key: e.key, Offset: start, Reason: "its checksum does not match"}
	}
	e.data = e.data[:dataSize:dataSize]
	return e, nil
}

// summed reports whether data ends with the checksum of the preceding bytes.
func summed(data []byte) bool {
	end := len(data) - checksumSize
	return binary.LittleEndian.Uint32(data[end:]) == crc32.Checksum(data[:end], castagnoli)
}

// data reads size bytes and their checksum. The buffer grows to at most twice the data read.
func (b *Reader) data(size int) ([]byte, error) {
	size += checksumSize
	data := make([]byte, 0, min(size, bufferSize))
	for len(data) < size {
		data = slices.Grow(data, min(size-len(data), max(len(data), bufferSize)))
		part := data[len(data):min(cap(data), size)]
		n, err := io.ReadFull(b.in, part)
		b.offset += int64(n)
		if err != nil {
			return nil, err
		}
		b.sum.Write(part)
		data = data[:len(data)+n]
	}
	return data, nil
}

// lost skips to the next marker after an entry whose start is damaged.
func (b *Reader) lost(start int64) error {
	for {
		if err := b.skip(1); err != nil {
			return err
		}
		ahead, err := b.in.Peek(len(marker))
		if err != nil {
			return err
		}
		if string(ahead) == marker {
			return &DamagedError{After: b.last, Offset: start,
				Reason: "its header, with its key, is damaged"}
		}
	}
}

// skip consumes bytes that were peeked.
func (b *Reader) skip(n int) error {
	ahead, err := b.in.Peek(n)
	if err != nil {
		return err
	}
	b.sum.Write(ahead)
	b.offset += int64(n)
	_, err = b.in.Discard(n)
	return err
}
