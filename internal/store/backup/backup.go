// Package backup is a plane's state as one stream: every object of a snapshot, with what its reader has to know to begin where
// it ends. It is what bowline backup writes to a file, what a server answers administrators who ask for its state, and what
// restore, verify and fork read.
//
// A stream is written while the plane serves: a snapshot holds nobody up, and no more than a buffer of it is in memory. It is
// read in one pass. What is not as it was written is found and named, and all that is whole is read nevertheless.
//
//	magic    "bowline backup 1", and a newline
//	entries  the head, the objects in the order of their keys, the trailer
//
// Each entry is
//
//	marker    4 bytes, by which a reader finds the next entry after a damaged one
//	sort      1 byte
//	lengths   2 bytes of the key, 4 bytes of the data, little endian as all numbers
//	revision  8 bytes
//	key       empty but for objects
//	checksum  4 bytes, CRC-32C of the entry up to here
//	data      JSON of a Head or a trailer, or the record of an object (object.Object.AppendRecord)
//	checksum  4 bytes, CRC-32C of the data
//
// The trailer has the number of the objects and a SHA-256 of everything before it: without one, the stream was cut short.
//
// The package knows no kind, no file and no server.
package backup

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/bowline-dev/bowline/object"
)

// Head is what a backup says of itself before its objects.
type Head struct {
	// Plane is who the plane is: the uid of its namespace kube-system.
	Plane string `json:"plane"`
	// Revision is the state's. A plane that goes on from here has to begin above every revision that the old one has given
	// out, which are more than this one: see object.NextEpoch.
	Revision object.Revision `json:"revision"`
	// Oldest is the first revision that the plane still answered for.
	Oldest object.Revision `json:"oldest"`
	// Objects is how many there are.
	Objects int `json:"objects"`
	// Time is the clock's when the snapshot was taken.
	Time time.Time `json:"time"`
	// Program is the version of bowline that wrote the backup.
	Program string `json:"program"`
	// Damaged are the keys whose objects the plane itself could not read any more: they are not in the backup.
	Damaged []object.Key `json:"damaged,omitempty"`
}

// The layout of a stream.
const (
	magic   = "bowline backup "
	version = 1

	sortHead    = 'h'
	sortObject  = 'o'
	sortTrailer = 't'

	fixedSize    = len(marker) + 1 + 2 + 4 + 8
	checksumSize = 4
	// largestKey is what two bytes count.
	largestKey = 1<<16 - 1
	// largestData bounds what a reader takes for the length of data. Objects are of a few megabytes at most.
	largestData = 1 << 28
)

// marker begins each entry. It is no text, so that it is rare within objects.
const marker = "\xb0\xe1\x1e\x0a"

// trailer is what stands at the end.
type trailer struct {
	Objects int    `json:"objects"`
	SHA256  string `json:"sha256"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is a part of the stream.
type entry struct {
	sort     byte
	revision object.Revision
	key      object.Key
	data     []byte
}

// appendStart appends all before the data.
func (e *entry) appendStart(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, marker...)
	dst = append(dst, e.sort)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(e.key)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(e.data)))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.revision))
	dst = append(dst, e.key...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}
