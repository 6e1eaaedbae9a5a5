package structural

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"

	"github.com/bowline-dev/bowline/internal/object"
)

// stampOf hashes everything that determines how objects are encoded and decoded: the versions, the storage
// version first, with their schemas and selectable fields; whether unknown fields are preserved; and the
// conversion.
func (d *definition) stampOf() object.Stamp {
	h := sha256.New()
	conversion, _ := json.Marshal(d.conversion) // a struct of strings and bytes always marshals
	hashPart(h, conversion)
	if d.preserve {
		hashPart(h, []byte("preserveUnknownFields"))
	}
	for _, k := range d.kinds {
		hashPart(h, []byte(k.version.apiVersion))
		hashPart(h, k.version.raw)
		for _, f := range k.fields {
			hashPart(h, []byte(f.name))
		}
	}
	return object.Stamp(binary.LittleEndian.Uint64(h.Sum(nil)))
}

// hashPart adds a part preceded by its length, which makes the sequence of parts unambiguous.
func hashPart(h hash.Hash, part []byte) {
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
	h.Write(part)
}
