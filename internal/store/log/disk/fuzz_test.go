package disk

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// fuzzedObject returns an object as the store would append it.
func fuzzedObject(f *testing.F) *object.Object {
	f.Helper()
	data := []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7"}}`)
	encoding, err := object.NewEncoding(object.Form{APIVersion: "v1"}, data)
	if err != nil {
		f.Fatal(err)
	}
	o := object.New(object.Header{Key: "/configmaps/b/a", UID: "u", Labels: map[string]string{"l": "x"}}, nil, encoding)
	if err := o.Stamp(7); err != nil {
		f.Fatal(err)
	}
	return o
}

// FuzzState reads the value of a state, alone and within a damaged block. It is rejected, or it is written again as the
// same bytes, and a block that contains it has it among its states.
func FuzzState(f *testing.F) {
	key := appendVersionKey(nil, "/configmaps/b/a", 7)
	f.Add(key, fuzzedObject(f).AppendRecord(nil), []byte(stateMagic))
	f.Add(key, []byte(nil), []byte(entryMagic+"rest"))
	f.Add(appendVersionKey(nil, "a", 1<<63), []byte("x"), []byte(nil))
	f.Add([]byte("o\x00\xff"), []byte(nil), []byte(factMagic))
	f.Fuzz(func(t *testing.T, key, record, after []byte) {
		if len(key) > 1<<16-1 {
			return
		}
		value := binary.BigEndian.AppendUint16([]byte(stateMagic+"\x00\x00\x00\x00"), uint16(len(key)))
		value = append(binary.BigEndian.AppendUint32(value, uint32(len(record))), key...)
		binary.LittleEndian.PutUint32(value[4:], crc32.Checksum(value[8:], castagnoli))
		value = append(value, record...)
		gotKey, gotRecord, err := splitState(append(value, after...))
		if err != nil || !bytes.Equal(gotKey, key) || !bytes.Equal(gotRecord, record) {
			t.Fatalf("got %q, %q, %v, want %q, %q", gotKey, gotRecord, err, key, record)
		}
		r := &reader{}
		r.at = key
		s, err := r.decodeValue(key, value)
		if err != nil {
			t.Fatal(err)
		}
		if s.err == nil && !bytes.Equal(s.at(), key) {
			t.Errorf("%q is read as %s at %d, whose key is %q", key, s.key, s.revision, s.at())
		}
		_, _, keyErr := splitVersionKey(key)
		if err := r.addState(value); (err == nil) != (keyErr == nil) {
			t.Errorf("%q: got error %v, want %v", key, err, keyErr)
		}
		block := append(append(make([]byte, 11), value...), after...)
		if found, _ := r.statesIn(block); len(found) == 0 && bytes.Index(block, []byte(stateMagic)) == 11 {
			t.Errorf("%q: got no state", block)
		}
	})
}

// FuzzEntry reads entries of commits with valid checksums. An entry is rejected, or it is written again as an entry
// with the same changes. A history that contains it, and states of some of its objects, makes events of them.
func FuzzEntry(f *testing.F) {
	o := fuzzedObject(f)
	for _, change := range []log.Change{
		{Key: o.Key, Object: o}, {Key: o.Key, Previous: 6}, {Key: "other", Previous: 1 << 63, Object: o},
	} {
		f.Add(appendEntry(nil, time.UnixMicro(5), &log.Commit{Changes: []log.Change{change, change}})[8:])
	}
	f.Add(append(make([]byte, 8), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"...))
	f.Fuzz(func(t *testing.T, rest []byte) {
		data := binary.LittleEndian.AppendUint32([]byte(entryMagic), crc32.Checksum(rest, castagnoli))
		e, err := readEntry(append(data, rest...), nil)
		if err != nil {
			return
		}
		c := &log.Commit{}
		for _, change := range e.changes {
			written := log.Change{Key: change.key, Previous: change.previous, Object: o}
			if change.deleted {
				written.Object = nil
			}
			c.Changes = append(c.Changes, written)
		}
		again, err := readEntry(appendEntry(nil, e.at, c), nil)
		if err != nil || !again.at.Equal(e.at) || len(again.changes) != len(e.changes) {
			t.Fatalf("got %+v, %v, want %+v", again, err, e)
		}
		for i := range e.changes {
			if again.changes[i] != e.changes[i] {
				t.Errorf("change %d: got %+v, want %+v", i, again.changes[i], e.changes[i])
			}
		}
		h := newHistory(9, 5)
		h.addState(&stored{key: o.Key, revision: 7, object: o}, false, 8)
		h.addState(&stored{key: o.Key, revision: 4, object: o}, false, 7)
		if err := h.add(&e, 7); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
		if len(h.events) != 0 && len(h.events) != len(e.changes) {
			t.Errorf("%+v: got %d events", e, len(h.events))
		}
	})
}

// FuzzFormat reads the small files of a state folder. A format that is accepted, and a revision, are written as the
// same text.
func FuzzFormat(f *testing.F) {
	f.Add(storeFormat{layout: 1, ready: true}.String())
	f.Add(storeFormat{layout: 1}.String())
	f.Add("bowline store\nlayout +1\nready\n")
	f.Add("bowline store\nlayout 99999999999999999999\nready\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseFormat(text); err == nil && (s.String() != text || s.layout < 1) {
			t.Errorf("%q is read as %+v, which is written as %q", text, s, s)
		}
	})
}
