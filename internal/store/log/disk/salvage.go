package disk

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"

	"github.com/bowline-dev/bowline/internal/object"
)

// A table is damaged if the checksum of one of its blocks does not match. The database then returns neither the rows
// of the block nor the rows of other tables with keys in the same range. The structures of the block cannot be
// trusted: its keys, the sequence numbers of its rows, and its offsets. But every value in it starts with a magic
// number, and states have checksums of their own. So salvage scans the bytes for states: intact ones are loaded, and
// a damaged one affects only its own object. If this leaves anything uncertain (rows that cannot be identified, or
// possible deletions), the store is rejected and must be restored from a backup.

// salvage reads the states of the first damaged block with keys at or after lower, and returns the key at
// which the database can continue. It returns false if the contents cannot be determined with certainty.
func (r *reader) salvage(lower []byte) (next []byte, ok bool) {
	levels, err := r.db.kv.SSTables()
	if err != nil {
		return nil, false
	}
	tables := slices.Concat(levels...)
	b, err := r.nextDamaged(tables, lower)
	if b == nil || err != nil {
		return nil, false
	}
	states, err := r.merged(b.states, tables, b.table, lower, b.upper)
	if err != nil || len(states) > 0 && bytes.Compare(states[0].at(), lower) < 0 {
		return nil, false
	}
	r.next = append(r.next, states...)
	return b.upper, true
}

// damagedBlock holds the states found in a damaged block, and the first key after the block.
type damagedBlock struct {
	table  int
	states []stored
	upper  []byte
}

// nextDamaged returns the damaged block with the lowest keys at or after lower, nil if there is none. It
// fails if the key range of a damaged block cannot be determined.
func (r *reader) nextDamaged(tables []pebble.SSTableInfo, lower []byte) (next *damagedBlock, err error) {
	for i := range tables {
		blocks, err := readBlocks(r.db.dir.options.FS, r.db.dir.tableName(tables[i]))
		if err != nil {
			return nil, err
		}
		for j := range blocks {
			if !blocks[j].damaged {
				continue
			}
			states, whole := r.statesIn(blocks[j].bytes)
			_, upper := rowBounds(versions)
			if j+1 < len(blocks) {
				upper = firstStateIn(blocks[j+1], upper)
			}
			switch {
			case upper != nil && bytes.Compare(upper, lower) <= 0, whole && len(states) == 0:
				// the damage is elsewhere
			case !whole || upper == nil:
				return nil, fmt.Errorf("a block of %s: %w", tables[i].FileNum, object.ErrDamaged)
			case next == nil || byKey(states[0], next.states[0]) < 0:
				next = &damagedBlock{i, states, upper}
			}
		}
	}
	return next, nil
}

// at returns the database key of a state.
func (s *stored) at() []byte { return appendVersionKey(nil, s.key, s.revision) }

func byKey(a, b stored) int { return bytes.Compare(a.at(), b.at()) }

// row is a row of a table: a state, or the deletion of one by trimming. number is Pebble's sequence number of the
// write.
type row struct {
	state   stored
	deleted bool
	number  uint64
}

// merged combines the states of a damaged block with those of the other tables and of memory in the same key
// range, in key order. It fails if the order of a deletion and a state is unknown.
func (r *reader) merged(states []stored, tables []pebble.SSTableInfo, own int, lower, upper []byte) ([]stored, error) {
	rows := map[string]row{}
	for i, t := range tables {
		if i != own && bytes.Compare(t.Largest.UserKey, lower) >= 0 && bytes.Compare(t.Smallest.UserKey, upper) < 0 {
			if err := r.rowsOf(t, lower, upper, rows); err != nil {
				return nil, err
			}
		}
	}
	if err := r.addUnflushed(lower, upper, rows); err != nil {
		return nil, err
	}
	oldest, newest := uint64(tables[own].SmallestSeqNum), uint64(tables[own].LargestSeqNum)
	for _, s := range states {
		switch other, ok := rows[string(s.at())]; {
		case !ok || other.number < oldest:
			rows[string(s.at())] = row{state: s}
		case other.number <= newest:
			return nil, fmt.Errorf("%s is in two tables, and one is damaged: %w", s.key, object.ErrDamaged)
		}
	}
	states = states[:0]
	for _, found := range rows {
		if !found.deleted {
			states = append(states, found.state)
		}
	}
	slices.SortFunc(states, byKey)
	return states, nil
}

// rowsOf adds the rows of a table in a key range, replacing older rows.
func (r *reader) rowsOf(t pebble.SSTableInfo, lower, upper []byte, rows map[string]row) (err error) {
	table, err := openTable(r.db.dir.options.FS, r.db.dir.tableName(t))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	i, err := table.NewIter(sstable.NoTransforms, lower, upper, sstable.AssertNoBlobHandles)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	for kv := i.First(); kv != nil; kv = i.Next() {
		found := row{number: uint64(kv.SeqNum()), deleted: kv.Kind() == pebble.InternalKeyKindDelete}
		if known, ok := rows[string(kv.K.UserKey)]; ok && known.number > found.number {
			continue
		}
		if !found.deleted {
			value, _, err := kv.Value(nil)
			if err != nil {
				return err
			}
			if found.state, err = r.decodeValue(kv.K.UserKey, value); err != nil {
				return err
			}
		}
		rows[string(kv.K.UserKey)] = found
	}
	return i.Error()
}

// decodeValue decodes the value of a row. It fails if the value was written under another key.
func (r *reader) decodeValue(key, value []byte) (stored, error) {
	written, record, err := splitState(value)
	if err != nil || !bytes.Equal(written, key) {
		return stored{}, fmt.Errorf("the value of the key %q: %w", key, object.ErrDamaged)
	}
	return r.decodeRecord(written, record), nil
}

// decodeRecord decodes a record; written is its database key.
func (r *reader) decodeRecord(written, record []byte) stored {
	key, revision, err := splitVersionKey(written)
	s := stored{key: object.Key(key), revision: revision, err: err}
	if err == nil && len(record) > 0 {
		s.object, s.err = r.objects.Read(s.key, revision, record)
	}
	return s
}

// firstStateIn returns the key of the first state in a block, nil if the block is damaged, and fallback if the block
// has no states.
func firstStateIn(b rawBlock, fallback []byte) []byte {
	if b.damaged {
		return nil
	}
	at := bytes.Index(b.bytes, []byte(stateMagic))
	if at < 0 {
		return fallback
	}
	key, _, _ := splitState(b.bytes[at:])
	return key
}

// statesIn returns the states found in the bytes of a block, in order. It reports whether they, together with
// the entries and facts found, are as many rows as the block's header states.
func (r *reader) statesIn(block []byte) (found []stored, whole bool) {
	const head = 4 // offset of Pebble's block header after the length of the longest key
	if len(block) < head+7 {
		return nil, false
	}
	rows := int(colblk.DecodeHeader(block[head:]).Rows)
	rows -= bytes.Count(block, []byte(entryMagic)) + bytes.Count(block, []byte(factMagic))
	for at := bytes.Index(block, []byte(stateMagic)); at >= 0; at = bytes.Index(block, []byte(stateMagic)) {
		block = block[at:]
		written, record, _ := splitState(block)
		if written == nil {
			return found, false
		}
		rows--
		found = append(found, r.decodeRecord(written, record))
		block = block[len(stateMagic)+len(written)+len(record):]
	}
	return found, rows == 0 && slices.IsSortedFunc(found, byKey)
}
