package disk

import (
	"bytes"
	"fmt"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"

	"github.com/bowline-dev/bowline/object"
)

// A table is damaged when a block of it is not what its checksum says. The database then reads nothing of the block, nor what
// other tables have of the same keys; and what the block says of itself is not to be trusted: which keys it has, what is newer
// than what, where its parts begin. But every value in it begins with what it is, and states have checksums of their own. So
// the bytes are looked through: states that are whole are live as ever, and one that is damaged costs its object alone. Where
// that leaves anything open (there are rows that nobody can name, or deletions, or another table with keys in between) the store
// is refused, and is to be restored.

// salvage takes the states of the next damaged block at or after a key, and returns where the database can read again. It is
// false where that cannot be said for sure.
func (r *reader) salvage(lower []byte) (next []byte, saved bool) {
	levels, err := r.log.db.SSTables()
	if err != nil {
		return nil, false
	}
	tables := slices.Concat(levels...)
	for i := range tables {
		blocks, err := readBlocks(r.log.options.FS, path.Join(r.log.dir, fmt.Sprintf("%06d.sst", uint64(tables[i].BackingSSTNum))))
		if err != nil {
			return nil, false
		}
		for j := 0; j < len(blocks); j++ {
			if !blocks[j].damaged {
				continue
			}
			states, whole := r.statesIn(blocks[j].bytes)
			_, upper := bounds(versions)
			if j+1 < len(blocks) {
				upper = firstStateIn(blocks[j+1], upper)
			}
			if upper != nil && bytes.Compare(upper, lower) <= 0 || whole && len(states) == 0 {
				continue // the damage is elsewhere
			}
			if !whole || upper == nil || !alone(tables, i, lower, upper) {
				return nil, false
			}
			if first := states[0]; bytes.Compare(appendVersionKey(nil, first.key, first.revision), lower) < 0 {
				return nil, false
			}
			r.next = append(r.next, states...)
			return upper, true
		}
	}
	return nil, false
}

// alone says that no other table has keys from lower up to upper.
func alone(tables []pebble.SSTableInfo, i int, lower, upper []byte) bool {
	for j, t := range tables {
		if j != i && bytes.Compare(t.Largest.UserKey, lower) >= 0 && bytes.Compare(t.Smallest.UserKey, upper) < 0 {
			return false
		}
	}
	return true
}

// firstStateIn is the key of the first state in a block, nil if the block is damaged, and otherwise where there is none.
func firstStateIn(b rawBlock, otherwise []byte) []byte {
	if b.damaged {
		return nil
	}
	at := bytes.Index(b.bytes, []byte(stateMagic))
	if at < 0 {
		return otherwise
	}
	key, _, _ := splitState(b.bytes[at:])
	return key
}

// statesIn are the states in the bytes of a block, in their order, and whether they and the entries and facts there are all that
// the block says to have.
func (r *reader) statesIn(block []byte) (found []stored, whole bool) {
	const head = 4 // where Pebble keeps the length of the longest key
	if len(block) < head+7 {
		return nil, false
	}
	rows := int(colblk.DecodeHeader(block[head:]).Rows)
	rows -= bytes.Count(block, []byte(entryMagic)) + bytes.Count(block, []byte(factMagic))
	for at := bytes.Index(block, []byte(stateMagic)); at >= 0; at = bytes.Index(block, []byte(stateMagic)) {
		block = block[at:]
		written, record, err := splitState(block)
		key, revision, unread := splitVersionKey(written)
		if unread != nil {
			return found, false
		}
		rows--
		s := stored{key: object.Key(key), revision: revision, err: err}
		if err == nil && len(record) > 0 {
			s.object, s.err = r.objects.Read(s.key, revision, bytes.Clone(record))
		}
		found = append(found, s)
		block = block[len(stateMagic)+len(written)+len(record):]
	}
	ordered := slices.IsSortedFunc(found, func(a, b stored) int {
		return bytes.Compare(appendVersionKey(nil, a.key, a.revision), appendVersionKey(nil, b.key, b.revision))
	})
	return found, rows == 0 && ordered
}
