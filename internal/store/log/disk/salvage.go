package disk

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"

	"github.com/bowline-dev/bowline/object"
)

// A table is damaged when a block of it is not what its checksum says. The database then reads nothing of the block, nor what
// other tables have of the same keys; and what the block says of itself is not to be trusted: which keys it has, what is newer
// than what, where its parts begin. But every value in it begins with what it is, and states have checksums of their own. So
// the bytes are looked through: states that are whole are live as ever, and one that is damaged costs its object alone. Where
// that leaves anything open (there are rows that nobody can name, or deletions among them) the store is refused, and is to be
// restored.

// salvage takes the states of the next damaged block at or after a key, and returns where the database can read again. It is
// false where that cannot be said for sure.
func (r *reader) salvage(lower []byte) (next []byte, saved bool) {
	levels, err := r.log.db.SSTables()
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

// damagedBlock is what is left of a block of a table: its states, and the first key after it.
type damagedBlock struct {
	table  int
	states []stored
	upper  []byte
}

// nextDamaged is the first of the damaged blocks that have keys at or after one, in the order of their keys; nil when there is
// none. It fails when one of them does not say which keys it has.
func (r *reader) nextDamaged(tables []pebble.SSTableInfo, lower []byte) (next *damagedBlock, err error) {
	for i := range tables {
		blocks, err := readBlocks(r.log.options.FS, r.log.tableName(tables[i]))
		if err != nil {
			return nil, err
		}
		for j := range blocks {
			if !blocks[j].damaged {
				continue
			}
			states, whole := r.statesIn(blocks[j].bytes)
			_, upper := bounds(versions)
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

// at is the key that a state is kept by.
func (s *stored) at() []byte { return appendVersionKey(nil, s.key, s.revision) }

func byKey(a, b stored) int { return bytes.Compare(a.at(), b.at()) }

// row is what a table has by a key, since a change of the database that its number tells from others.
type row struct {
	state   stored
	deleted bool
	number  uint64
}

// merged are the states of a table from one key up to another, with what the other tables and memory have there, in order. It fails
// where it is not known whether a deletion came before or after a state.
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

// rowsOf adds what a table has from one key up to another, where that is newer than what is known.
func (r *reader) rowsOf(t pebble.SSTableInfo, lower, upper []byte, rows map[string]row) (err error) {
	table, err := openTable(r.log.options.FS, r.log.tableName(t))
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
			if found.state, err = r.stateBy(kv.K.UserKey, value); err != nil {
				return err
			}
		}
		rows[string(kv.K.UserKey)] = found
	}
	return i.Error()
}

// stateBy is the state that a key and its value say. It fails where they do not belong together.
func (r *reader) stateBy(key, value []byte) (stored, error) {
	written, record, err := splitState(value)
	if err != nil || !bytes.Equal(written, key) {
		return stored{}, fmt.Errorf("the value by %q: %w", key, object.ErrDamaged)
	}
	return r.state(written, record), nil
}

// state is that of a key and a record.
func (r *reader) state(written, record []byte) stored {
	key, revision, err := splitVersionKey(written)
	s := stored{key: object.Key(key), revision: revision, err: err}
	if err == nil && len(record) > 0 {
		s.object, s.err = r.objects.Read(s.key, revision, record)
	}
	return s
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
		written, record, _ := splitState(block)
		if written == nil {
			return found, false
		}
		rows--
		found = append(found, r.state(written, record))
		block = block[len(stateMagic)+len(written)+len(record):]
	}
	return found, rows == 0 && slices.IsSortedFunc(found, byKey)
}
