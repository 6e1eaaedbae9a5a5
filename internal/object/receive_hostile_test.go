package object_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/object"
)

func TestReceiveAcceptsNulls(t *testing.T) {
	t.Parallel()
	for _, nothing := range []string{`null`, `[]`, `5`, `"x"`} { // Decode reports labels that are not a map
		data := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":null,"uid":null,"resourceVersion":"5","labels":` +
			nothing + `,"ownerReferences":null}}`
		o, err := object.NewReceiver(receivedMaps, nil).Receive(object.JSON, []byte(data))
		if err != nil || o.Key != "/configmaps//a" || len(o.Labels)+len(o.Owners) > 0 {
			t.Errorf("Receive of %s returned %+v, %v", data, o, err)
		}
	}
}

// ambiguous lists data that two JSON parsers would read as two different objects.
var ambiguous = []string{
	`{"kind":"Pod","apiVersion":"v1","\u006detadata":{"name":"x","resourceVersion":"5"},"metadata":x"resourceVersion"}`,
	`{"kind":"Pod","apiVersion":"v1","\u006detadata":{"name":"x","resourceVersion":"5"},"metadata":{"resourceVersion":"6"}}`,
	`{"kind":"Pod","apiVersion":"v1","\u006detadata":{"name":"x","resourceVersion":"5"},"metadata":{"resourceVersion":"`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"\u0035"}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"5","resourceVersion":"6"}}`,
}

func TestReceiveRejectsAmbiguousJSON(t *testing.T) {
	t.Parallel()
	for _, data := range ambiguous {
		if o, err := object.NewReceiver(receivedMaps, nil).Receive(object.JSON, []byte(data)); err == nil {
			t.Errorf("Receive of %s returned %+v at %d, want an error", data, o.Header, o.Revision)
		}
	}
}

func TestReceiveRejectsAmbiguousProtobuf(t *testing.T) {
	t.Parallel()
	whole := sentAs(t, sentMap("a", nil), object.Protobuf)
	other := sentAs(t, sentMap("b", nil), object.Protobuf)[len(object.ProtobufMagic):]
	if o, err := object.NewReceiver(receivedMaps, nil).Receive(object.Protobuf, append(whole, other...)); err == nil {
		t.Errorf("Receive of two objects in one envelope returned %+v, want an error", o.Header)
	}
}

func TestInvalidUTF8NameMatchesDecoder(t *testing.T) {
	t.Parallel()
	data := []byte("{\"metadata\":{\"name\":\"a\xff\",\"resourceVersion\":\"5\"}}")
	o, err := object.NewReceiver(receivedMaps, nil).Receive(object.JSON, data)
	if err != nil || o.Key.Name() != "a\ufffd" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestScanReadsEachBackslashOnce(t *testing.T) {
	t.Parallel()
	const size, step = 8 << 20, 1 << 10
	data := []byte(`"` + strings.Repeat(`\`, size) + `"`)
	begun := time.Now()
	var s object.Scan
	n, done := 0, false
	for have := 0; !done && have < len(data); {
		have = min(have+step, len(data))
		n, done = s.Value(data[:have])
	}
	if !done || n != len(data) {
		t.Errorf("the scan ended after %d of %d bytes, done %t", n, len(data), done)
	}
	if took := time.Since(begun); took > 5*time.Second { // a quadratic scan would examine 32 GB
		t.Errorf("scanning a string of %d bytes took %v", size, took)
	}
}

// FuzzReceive checks that Receive either refuses data or returns an object whose header equals the fully
// decoded metadata.
func FuzzReceive(f *testing.F) {
	for _, data := range append(ambiguous, `{"metadata":{"name":"a","resourceVersion":"5","labels":null}}`,
		`{"metadata":{"name":"a\`,
		"{ \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"a\xff\", \"resourceVersion\": \"05\", \"labels\": "+
			"{\"a\": null}}}") {
		f.Add(false, []byte(data))
	}
	f.Add(false, sentAs(f, sentMap("a", map[string]string{"l": "x"}), object.JSON))
	f.Add(true, sentAs(f, sentMap("a", map[string]string{"l": "x", "m": ""}), object.Protobuf))
	f.Fuzz(func(t *testing.T, protobuf bool, data []byte) {
		format := object.JSON
		if protobuf {
			format = object.Protobuf
		}
		o, err := object.NewReceiver(receivedMaps, nil).Receive(format, bytes.Clone(data))
		if err != nil {
			return
		}
		o.Stored().Metadata()
		if deleted, err := o.At(7); err == nil && deleted.Revision != 7 {
			t.Errorf("At(7) returned an object at revision %d", deleted.Revision)
		}
		var want metav1.PartialObjectMetadata
		if decodes(format, data, &want) {
			hasHeader(t, o, &want)
		}
	})
}

// decodes decodes the metadata of an object with the Kubernetes types. It returns false for malformed data,
// and for JSON objects with duplicate names, whose meaning RFC 8259 leaves open.
func decodes(format object.Format, data []byte, into *metav1.PartialObjectMetadata) bool {
	if format == object.JSON {
		var all any
		twice, err := kjson.UnmarshalStrict(data, &all)
		return err == nil && len(twice) == 0 && utiljson.Unmarshal(data, into) == nil
	}
	var envelope runtime.Unknown
	return envelope.Unmarshal(data[len(object.ProtobufMagic):]) == nil && into.Unmarshal(envelope.Raw) == nil
}

func hasHeader(t *testing.T, o *object.Object, want *metav1.PartialObjectMetadata) {
	t.Helper()
	var owners []types.UID
	for _, owner := range want.OwnerReferences {
		owners = append(owners, owner.UID)
	}
	none := func(uid types.UID) bool { return uid == "" }
	revision, err := object.ParseRevision(want.ResourceVersion)
	if err != nil || o.Revision != revision || o.UID != want.UID ||
		o.Key != object.KeyOf(receivedMaps, want.Namespace, want.Name) || !maps.Equal(o.Labels, want.Labels) ||
		!slices.Equal(slices.DeleteFunc(slices.Clone(o.Owners), none), slices.DeleteFunc(owners, none)) {
		t.Errorf("got header %+v at %d, want %+v", o.Header, o.Revision, want.ObjectMeta)
	}
}
