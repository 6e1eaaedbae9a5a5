package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// The first byte of a database key identifies the type of row.
const (
	// versions are the states of objects. The key is the object's key, a zero byte, and the bitwise
	// complement of the revision, so that the newest state sorts first. See appendState for the value.
	versions = 'o'
	// entries are one row per commit, by revision: see entry.
	entries = 'r'
	// facts describe the log as a whole.
	facts = 'm'
)

// baseKey holds the revision at which the log started: it never served an earlier one.
var baseKey = []byte{facts, 'b', 'a', 's', 'e'}

// rowBounds returns the bounds of the keys of a row type: the first key, and the first one after all of them.
func rowBounds(rowType byte) (lower, upper []byte) { return []byte{rowType}, []byte{rowType + 1} }

// appendVersionKey appends the database key of the state of an object at a revision. Object keys are text
// without a 0xff byte, and the complement of a revision starts with 0xff; so the states of one object are
// adjacent even if other keys have its key as a prefix.
func appendVersionKey(dst []byte, key object.Key, revision object.Revision) []byte {
	dst = append(append(append(dst, versions), key...), 0)
	return binary.BigEndian.AppendUint64(dst, ^uint64(revision))
}

// splitVersionKey reverses appendVersionKey. The returned key aliases data.
func splitVersionKey(data []byte) (key []byte, revision object.Revision, err error) {
	end := len(data) - 9
	if end < 2 || data[0] != versions || data[end] != 0 {
		return nil, 0, fmt.Errorf("%q is not the key of a state: %w", data, object.ErrDamaged)
	}
	return data[1:end], object.Revision(^binary.BigEndian.Uint64(data[end+1:])), nil
}

// Each value starts with a magic number, by which salvage.go finds it in a damaged block.
const (
	stateMagic = "\xb0\x1e\xc0\xde"
	entryMagic = "\xb0\x1e\xc0\xdf"
	factMagic  = "\xb0\x1e\xc0\xd0"
)

// appendState appends the value of a state; a nil object is a deletion. The value includes its key, so that a
// value stored under the wrong key is detected:
//
//	magic      4 bytes
//	checksum   4 bytes, CRC-32C of the lengths and the key, little endian
//	lengths    of the key, in 2 bytes, and of the record, in 4, big endian
//	key        the version key
//	record     of the object, with a checksum of its own; none for a deletion
func appendState(dst, key []byte, o *object.Object) []byte {
	start := len(dst)
	dst = append(dst, stateMagic+"\x00\x00\x00\x00"...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(key)))
	dst = append(append(dst, 0, 0, 0, 0), key...)
	record := len(dst)
	if o != nil {
		dst = o.AppendRecord(dst)
	}
	head := dst[start:]
	binary.BigEndian.PutUint32(head[10:], uint32(len(dst)-record))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(head[8:record-start], castagnoli))
	return dst
}

// splitState parses a state at the start of data into the database key that it was written under, and the
// record. For a truncated state it returns the key and an error.
func splitState(data []byte) (key, record []byte, err error) {
	const head = 14
	if len(data) >= head && string(data[:4]) == stateMagic {
		end := head + int(binary.BigEndian.Uint16(data[8:]))
		if end <= len(data) && binary.LittleEndian.Uint32(data[4:]) == crc32.Checksum(data[8:end], castagnoli) {
			length := int(binary.BigEndian.Uint32(data[10:]))
			if length > len(data)-end {
				return data[head:end], nil, fmt.Errorf("its record is cut short: %w", object.ErrDamaged)
			}
			return data[head:end], data[end : end+length], nil
		}
	}
	return nil, nil, fmt.Errorf("it has no valid header: %w", object.ErrDamaged)
}

func appendEntryKey(dst []byte, revision object.Revision) []byte {
	return binary.BigEndian.AppendUint64(append(dst, entries), uint64(revision))
}

func splitEntryKey(data []byte) (object.Revision, error) {
	if len(data) != 9 || data[0] != entries {
		return 0, fmt.Errorf("%q is not the key of a commit: %w", data, object.ErrDamaged)
	}
	return object.Revision(binary.BigEndian.Uint64(data[1:])), nil
}

// entry describes a commit in addition to its states: its time, and the states that it replaced. Its encoding
// is
//
//	magic      4 bytes
//	checksum   4 bytes, CRC-32C of all that follows, little endian
//	time       8 bytes, microseconds since 1970
//	changes    for each: the length of the key, the key, the previous revision (0: none), 1 if it was deleted
type entry struct {
	at      time.Time
	changes []changed
}

// changed is the effect of a commit on one key.
type changed struct {
	key      object.Key
	previous object.Revision
	deleted  bool
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendEntry appends the entry of a commit.
func appendEntry(dst []byte, at time.Time, commit *log.Commit) []byte {
	dst = append(dst, entryMagic...)
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(at.UnixMicro()))
	for _, c := range commit.Changes {
		dst = binary.AppendUvarint(dst, uint64(len(c.Key)))
		dst = append(dst, c.Key...)
		dst = binary.AppendUvarint(dst, uint64(c.Previous))
		deleted := byte(0)
		if c.Object == nil {
			deleted = 1
		}
		dst = append(dst, deleted)
	}
	binary.LittleEndian.PutUint32(dst[start:], crc32.Checksum(dst[start+4:], castagnoli))
	return dst
}

var errEntry = errors.New("the entry of the commit is damaged")

// readEntry parses what appendEntry wrote and appends to changes. Keys are copied.
func readEntry(data []byte, changes []changed) (entry, error) {
	return readEntryWith(data, changes, func(key []byte) object.Key { return object.Key(key) })
}

// readEntryWith is readEntry with a custom conversion of keys.
func readEntryWith(data []byte, changes []changed, toKey func([]byte) object.Key) (entry, error) {
	data, ok := bytes.CutPrefix(data, []byte(entryMagic))
	if !ok || len(data) < 12 || binary.LittleEndian.Uint32(data) != crc32.Checksum(data[4:], castagnoli) {
		return entry{}, errEntry
	}
	e := entry{at: time.UnixMicro(int64(binary.BigEndian.Uint64(data[4:]))), changes: changes}
	for rest := data[12:]; len(rest) > 0; {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return entry{}, errEntry
		}
		key := rest[n : n+int(length)]
		rest = rest[n+int(length):]
		previous, n := binary.Uvarint(rest)
		if n <= 0 || len(rest) <= n {
			return entry{}, errEntry
		}
		e.changes = append(e.changes, changed{toKey(key), object.Revision(previous), rest[n] == 1})
		rest = rest[n+1:]
	}
	return e, nil
}
