// Package backup encodes the state of a plane as one stream: every object of a snapshot, with the information
// that a reader needs to continue from it. The backup command writes it to a file, servers return it to
// administrators who request their state, and restore, verify and fork read it.
//
// A stream is written while the plane serves: a snapshot blocks no client, and only a buffer of the stream is
// in memory. It is read in one pass. A reader detects and names what is damaged, and reads everything that is
// intact.
//
//	magic    "bowline backup 1", and a newline
//	entries  the head, the objects in the order of their keys, the trailer
//
// Each entry is
//
//	marker    4 bytes, by which a reader finds the next entry after a damaged one
//	kind      1 byte
//	lengths   2 bytes of the key, 4 bytes of the data, little endian as all numbers
//	revision  8 bytes
//	key       empty but for objects
//	checksum  4 bytes, CRC-32C of the entry up to here
//	data      JSON of a Head or a trailer, or the record of an object (object.Object.AppendRecord)
//	checksum  4 bytes, CRC-32C of the data
//
// The trailer holds the number of objects and a SHA-256 of everything before it; a stream without one was cut
// short.
//
// The package does not depend on kinds, files or servers.
package backup

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
)

// Head describes a backup. It precedes the objects.
type Head struct {
	// Plane identifies the plane: the UID of its namespace kube-system.
	Plane string `json:"plane"`
	// Revision is the revision of the state. A plane that continues from the backup must start above every
	// revision that the old one has assigned, which may exceed this one: see object.NextEpoch.
	Revision object.Revision `json:"revision"`
	// Oldest is the first revision that the plane still served.
	Oldest object.Revision `json:"oldest"`
	// Objects is the number of objects.
	Objects int `json:"objects"`
	// Time is the wall-clock time of the snapshot.
	Time time.Time `json:"time"`
	// Program is the version of bowline that wrote the backup.
	Program string `json:"program"`
	// Damaged lists the keys of objects that the plane itself could not read; they are not in the backup.
	Damaged []object.Key `json:"damaged,omitempty"`
}

// The layout of a stream.
const (
	magic   = "bowline backup "
	version = 1

	entryHead    = 'h'
	entryObject  = 'o'
	entryTrailer = 't'

	fixedSize    = len(marker) + 1 + 2 + 4 + 8
	checksumSize = 4
	// largestKey is the largest length that two bytes hold.
	largestKey = 1<<16 - 1
	// largestData bounds the length of data that a reader accepts. Objects have at most a few megabytes.
	largestData = 1 << 28
)

// marker starts each entry. It is not valid text and therefore rare within objects.
const marker = "\xb0\xe1\x1e\x0a"

// trailer is the last entry.
type trailer struct {
	Objects int    `json:"objects"`
	SHA256  string `json:"sha256"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is one entry of the stream.
type entry struct {
	kind     byte
	revision object.Revision
	key      object.Key
	data     []byte
}

// appendStart appends everything before the data.
func (e *entry) appendStart(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, marker...)
	dst = append(dst, e.kind)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(e.key)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(e.data)))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.revision))
	dst = append(dst, e.key...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}
