package structural

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"

	"github.com/bowline-dev/bowline/object"
)

// stampOf hashes what decides how objects are written and read: the versions, the stored one first, each with its schema and
// its selectable fields, whether unknown fields are kept, and who converts.
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

// hashPart adds a part with its length before it, so that no two ways to cut a text hash alike.
func hashPart(h hash.Hash, part []byte) {
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
	h.Write(part)
}
