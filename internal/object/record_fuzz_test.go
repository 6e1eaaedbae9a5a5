package object_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/object"
)

// FuzzRecord reads records with valid checksums, such as those of a hostile backup. A record is rejected, or its object
// has an equal record. If its encoding passes the check of backups, every method of the object works.
func FuzzRecord(f *testing.F) {
	const checksum = 4
	f.Add("/pods/default/a", recorded(f).AppendRecord(nil)[checksum:])
	received, err := object.NewReceiver(receivedMaps, nil).Receive(object.Protobuf,
		sentAs(f, sentMap("a", map[string]string{"l": "x"}), object.Protobuf))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(received.Key), received.AppendRecord(nil)[checksum:])
	f.Add("/a/b/c", []byte("\x01\x0b\x00\x02\x02v1\x00\x01\x00\x01\x00\x00\x00\x00data"))
	f.Fuzz(func(t *testing.T, key string, rest []byte) {
		record := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli)))
		record = append(record, rest...)
		var r object.Reader
		o, err := r.Read(object.Key(key), 7, record)
		if err != nil {
			return
		}
		again, err := r.Read(object.Key(key), 7, o.AppendRecord(nil))
		if err != nil {
			t.Fatalf("%q: the record of what was read is rejected: %v", record, err)
		}
		if !reflect.DeepEqual(again.Header, o.Header) || again.Form() != o.Form() ||
			!bytes.Equal(again.Stored().Bytes(), o.Stored().Bytes()) {
			t.Fatalf("%q: got %+v, and from its own record %+v", record, o, again)
		}
		if object.CheckEncoding(o) == nil {
			checkObject(t, o)
		}
	})
}

// checkObject calls the methods of an object whose encoding is valid.
func checkObject(t *testing.T, o *object.Object) {
	t.Helper()
	e := o.Stored()
	if f := o.Form().Format; f != object.JSON && f != object.Protobuf || f == object.JSON && !json.Valid(e.Bytes()) {
		t.Fatalf("format %d of %q passes as valid", f, e.Bytes())
	}
	_ = object.CheckIdentity(o)
	e.Kind()
	e.Metadata()
	e.AppendItem(nil)
	object.Initializers(o.Form().Format, e.Bytes())
	for _, revision := range []object.Revision{1, 1 << 62} {
		at, err := o.At(revision)
		if err != nil {
			continue
		}
		if err := object.CheckEncoding(at); err != nil {
			t.Errorf("%q at revision %d: %v", e.Bytes(), revision, err)
		}
	}
	if o.Form().Format == object.JSON {
		object.CutFieldSets(e.Bytes())
	}
}

// FuzzCutFieldSets checks that an object decoded without its field sets, and then completed by them, equals the object
// that a library decodes from the whole JSON.
func FuzzCutFieldSets(f *testing.F) {
	for _, data := range []string{
		`{"metadata":{"managedFields":[{"manager":"a","fieldsV1":{"f:metadata":{".":{}}}},{"manager":"b"}]}}`,
		`{"metadata":{"managedFields":[{"fieldsV1":null},{"fieldsV1":{"v:\"}]\"":{}}}],"name":"n"}}`,
		`{"metadata":{"managedFields":[{}]}}`, `{"metadata":{"managedFields":[]}}`,
		`{"metadata":{"managedFields":[null,{}]}}`, `{"metadata":{"managedFields":null}}`, `{"metadata":[]}`, `{`,
	} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		var content any
		if twice, err := kjson.UnmarshalStrict(sent, &content); err != nil || len(twice) > 0 {
			return
		}
		var data bytes.Buffer // encoders write no white space
		if err := json.Compact(&data, sent); err != nil {
			t.Fatal(err)
		}
		var want, got metav1.PartialObjectMetadata
		wantErr := kjson.UnmarshalCaseSensitivePreserveInts(data.Bytes(), &want)
		thin, sets := object.CutFieldSets(data.Bytes())
		err := kjson.UnmarshalCaseSensitivePreserveInts(thin, &got)
		if wantErr != nil {
			return
		}
		if err != nil || sets != nil && len(sets) != len(got.ManagedFields) {
			return // stored objects have no such form, and decoding them reports an error
		}
		for i, set := range sets {
			if set != nil {
				got.ManagedFields[i].FieldsV1 = metav1.NewFieldsV1(string(set))
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", data.Bytes(), got, want)
		}
	})
}
