package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// bufferSize is the size of a buffer, in bytes.
const bufferSize = 256 << 10

// Write writes a snapshot. It sets the head's revision and number of objects; the caller sets the other
// fields. It stops when ctx ends, and returns an error of w; a reader reports what was written until then as
// cut short.
func Write(ctx context.Context, w io.Writer, snapshot *store.Snapshot, head Head) error {
	head.Revision, head.Objects = snapshot.Revision(), snapshot.Size()
	sum := sha256.New()
	out := &writer{Writer: bufio.NewWriterSize(io.MultiWriter(w, sum), bufferSize), sum: sum}
	fmt.Fprintf(out, "%s%d\n", magic, version) // the buffer holds an error until Flush
	if err := out.json(entryHead, head.Revision, head); err != nil {
		return err
	}
	var err error
	for o := range snapshot.All() {
		if err = ctx.Err(); err == nil {
			err = out.object(o)
		}
		if err != nil {
			return err
		}
	}
	return out.end(head)
}

// writer writes entries and reuses its buffers.
type writer struct {
	*bufio.Writer
	sum           hash.Hash // of what was flushed
	start, record []byte
}

func (w *writer) object(o *object.Object) error {
	w.record = o.AppendRecord(w.record[:0])
	switch {
	case len(o.Key) > largestKey:
		return fmt.Errorf("%.100s...: its key is longer than a backup can hold", o.Key)
	case len(w.record) > largestData:
		return fmt.Errorf("%s: its record is longer than a backup can hold", o.Key)
	}
	return w.entry(&entry{kind: entryObject, revision: o.Revision, key: o.Key, data: w.record})
}

func (w *writer) json(kind byte, revision object.Revision, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return w.entry(&entry{kind: kind, revision: revision, data: data})
}

func (w *writer) entry(e *entry) error {
	w.start = e.appendStart(w.start[:0])
	w.Write(w.start)
	w.Write(e.data)
	_, err := w.Write(binary.LittleEndian.AppendUint32(w.start[:0], crc32.Checksum(e.data, castagnoli)))
	return err
}

// end writes the trailer.
func (w *writer) end(head Head) error {
	if err := w.Flush(); err != nil {
		return err
	}
	t := trailer{Objects: head.Objects, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	if err := w.json(entryTrailer, head.Revision, t); err != nil {
		return err
	}
	return w.Flush()
}
