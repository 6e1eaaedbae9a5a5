package object_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
)

// recorded returns a committed object that sets every field of a record.
func recorded(t testing.TB) *object.Object {
	t.Helper()
	data := fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":%q},"spec":{}}`,
		object.RevisionPlaceholder)
	encoding, err := object.NewEncoding(object.Form{APIVersion: "v1"}, data)
	if err != nil {
		t.Fatal(err)
	}
	o := object.New(object.Header{
		Key: "/pods/default/a", UID: "uid", Labels: map[string]string{"app": "web", "tier": ""},
		Fields: map[string]string{"spec.nodeName": "n"}, Owners: []types.UID{"x", "y"},
	}, nil, encoding)
	if err := o.Stamp(1_234_567_890_123_456); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	o := recorded(t)
	var r object.Reader
	got, err := r.Read(o.Key, o.Revision, o.AppendRecord(nil))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Header, o.Header) || got.Revision != o.Revision || got.Form() != o.Form() {
		t.Errorf("got %+v at revision %d in %v, want %+v", got.Header, got.Revision, got.Form(), o.Header)
	}
	if !bytes.Equal(got.Stored().Bytes(), o.Stored().Bytes()) ||
		!bytes.Equal(got.Stored().AppendItem(nil), o.Stored().AppendItem(nil)) {
		t.Errorf("got bytes %s", got.Stored().Bytes())
	}
	if again, err := got.At(7); err != nil || !bytes.Contains(again.Stored().Bytes(), []byte(`"resourceVersion":"7"`)) {
		t.Errorf("At returned %s, %v", again.Stored().Bytes(), err)
	}
}

func TestDamagedRecordIsFound(t *testing.T) {
	t.Parallel()
	o := recorded(t)
	whole := o.AppendRecord(nil)
	var r object.Reader
	for i := range whole {
		for bit := range 8 {
			damaged := bytes.Clone(whole)
			damaged[i] ^= 1 << bit
			if _, err := r.Read(o.Key, o.Revision, damaged); !errors.Is(err, object.ErrDamaged) {
				t.Fatalf("with bit %d of byte %d flipped: %v", bit, i, err)
			}
		}
		if _, err := r.Read(o.Key, o.Revision, whole[:i]); !errors.Is(err, object.ErrDamaged) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
}

// TestRecordWithWrongCountsIsDamaged reads records with a valid checksum whose counts exceed the head.
func TestRecordWithWrongCountsIsDamaged(t *testing.T) {
	t.Parallel()
	o := recorded(t)
	for name, counts := range map[string][]byte{
		"labels": {9}, "fields": {0, 9}, "owners": {0, 0, 9}, "owners, in a number without an end": {0, 0, 0xff},
	} {
		head := []byte{0, 0, 2, 'v', '1', 0, 1, 0, 1, 1, 'u'} // stamp, form, positions and uid
		head = append(head, counts...)
		record := append([]byte{1, byte(len(head))}, head...)
		record = append(record, "data"...)
		sum := crc32.Checksum(record, crc32.MakeTable(crc32.Castagnoli))
		record = append(binary.LittleEndian.AppendUint32(nil, sum), record...)
		var r object.Reader
		if got, err := r.Read(o.Key, o.Revision, record); !errors.Is(err, object.ErrDamaged) {
			t.Errorf("%s: Read returned %+v, %v, want ErrDamaged", name, got, err)
		}
	}
}

func BenchmarkReadRecord(b *testing.B) {
	o := recorded(b)
	record := o.AppendRecord(nil)
	var r object.Reader
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Read(o.Key, o.Revision, record); err != nil {
			b.Fatal(err)
		}
	}
}
