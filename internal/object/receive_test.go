package object_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/randfill"

	"github.com/bowline-dev/bowline/internal/object"
)

var receivedMaps = schema.GroupResource{Resource: "configmaps"}

func sentMap(name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "41", Labels: labels,
			Annotations: map[string]string{"uid": `"}`, "labels": `{"a":"b"}`},
			OwnerReferences: []metav1.OwnerReference{{Kind: "A", Name: "a", UID: "o1"},
				{Kind: "B", Name: "b", UID: "o2"}},
		},
		Data: map[string]string{"metadata": `{"name":"other"}`},
	}
}

// sentAs encodes obj as a server does.
func sentAs(t testing.TB, obj runtime.Object, format object.Format) []byte {
	t.Helper()
	if format == object.JSON {
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var data bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(obj, &data); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func TestReceiveHeaderMatchesMetadata(t *testing.T) {
	t.Parallel()
	for _, format := range []object.Format{object.JSON, object.Protobuf} {
		t.Run(format.String(), func(t *testing.T) {
			t.Parallel()
			r := object.NewReceiver(receivedMaps, nil)
			for _, labels := range []map[string]string{{"l": "x", "m": ""}, nil, {"l": "x"}, {"l": "x"}} {
				data := sentAs(t, sentMap("a", labels), format)
				o, err := r.Receive(format, data)
				if err != nil {
					t.Fatal(err)
				}
				if o.Key != "/configmaps/ns/a" || o.UID != "uid-a" || o.Revision != 41 ||
					!maps.Equal(o.Labels, labels) ||
					!slices.Equal(o.Owners, []types.UID{"o1", "o2"}) {
					t.Errorf("got header %+v at %d", o.Header, o.Revision)
				}
				if o.Form() != (object.Form{APIVersion: "v1", Format: format}) ||
					!bytes.Equal(o.Stored().Bytes(), data) {
					t.Errorf("got the form %v and the bytes %q", o.Form(), o.Stored().Bytes())
				}
			}
		})
	}
}

func TestReceiveCompactsJSON(t *testing.T) {
	t.Parallel()
	obj := sentMap("a", map[string]string{"l": "x"})
	spaced, err := json.MarshalIndent(obj, " ", "\t")
	if err != nil {
		t.Fatal(err)
	}
	o, err := object.NewReceiver(receivedMaps, nil).Receive(object.JSON, spaced)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := o.Stored().Bytes(), sentAs(t, obj, object.JSON); !bytes.Equal(got, want) || o.Labels["l"] != "x" {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReceiveRejectsNonObjects(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		``, `{`, `[]`, `null`, `"x"`, `{}`, `{"metadata":null}`, `{"metadata":{"name":"a"}}`,
		`{"metadata":{"name":"a","resourceVersion":"x"}}`,
		`{"metadata":{"name":"a","resourceVersion":"1"`, `{"metadata" {"name":"a","resourceVersion":"1"}}`,
		`{"metadata":{"name":["a"],"resourceVersion":"1"}}`, `{"metadata":{"name":"a\`,
	} {
		if o, err := object.NewReceiver(receivedMaps, nil).Receive(object.JSON, []byte(data)); err == nil {
			t.Errorf("Receive of %s returned %+v, want an error", data, o.Header)
		}
	}
	whole := sentAs(t, sentMap("a", map[string]string{"l": "x"}), object.Protobuf)
	for n := range len(whole) - 4 { // the last bytes are an empty content type
		if o, err := object.NewReceiver(receivedMaps, nil).Receive(object.Protobuf,
			bytes.Clone(whole[:n])); err == nil {
			t.Errorf("Receive of the first %d of %d bytes returned %+v, want an error", n, len(whole), o.Header)
		}
	}
}

func TestReceiveMatchesDecodedMetadata(t *testing.T) {
	t.Parallel()
	fill := randfill.NewWithSeed(1).NilChance(.3).NumElements(0, 3)
	for range 200 {
		obj := sentMap("a", nil)
		fill.Fill(&obj.Labels)
		fill.Fill(&obj.Annotations)
		fill.Fill(&obj.Finalizers)
		for _, format := range []object.Format{object.JSON, object.Protobuf} {
			data := sentAs(t, obj, format)
			if format == object.JSON && strings.Contains(string(data), `\u`) {
				continue
			}
			o, err := object.NewReceiver(receivedMaps, nil).Receive(format, data)
			if err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			if len(obj.Labels)+len(o.Labels) > 0 && !maps.Equal(o.Labels, obj.Labels) {
				t.Errorf("got labels %q, want %q", o.Labels, obj.Labels)
			}
		}
	}
}

func TestScanFindsEndOfChunkedValue(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`{"a":"}\\\"{","b":[1,{"c":null}]}`, `"a\\"`, `"\\\""`, `[]`, `[[],{}]`} {
		data := []byte(value + `,"rest"`)
		for step := 1; step < len(data); step++ {
			var s object.Scan
			n, done := 0, false
			for have := 0; !done; have = min(have+step, len(data)) {
				n, done = s.Value(data[:have])
			}
			if string(data[:n]) != value {
				t.Errorf("in steps of %d: the scan of %s ended after %q", step, data, data[:n])
			}
		}
	}
}

func BenchmarkReceive(b *testing.B) {
	for _, format := range []object.Format{object.JSON, object.Protobuf} {
		b.Run(format.String(), func(b *testing.B) {
			var data bytes.Buffer
			obj := sentMap("a", map[string]string{"l": "x", "m": "y"})
			if format == object.JSON {
				json.NewEncoder(&data).Encode(obj)
			} else {
				protobuf.NewSerializer(nil, nil).Encode(obj, &data)
			}
			r := object.NewReceiver(receivedMaps, nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Receive(format, data.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
