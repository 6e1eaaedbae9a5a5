package object_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/bowline-dev/bowline/internal/object"
)

var (
	asJSON     = object.Form{APIVersion: "v1"}
	asProtobuf = object.Form{APIVersion: "v1", Format: object.Protobuf}
	key        = object.KeyOf(schema.GroupResource{Resource: "configmaps"}, "default", "settings")
)

// configMaps is a codec for ConfigMaps that counts its Encode calls.
type configMaps struct {
	cache      *object.Cache
	encoded    *atomic.Int32
	definition object.Stamp
}

func (c configMaps) Stamp() object.Stamp { return 1 + c.definition }

func (c configMaps) Cache() *object.Cache { return c.cache }

func (c configMaps) Decode(form object.Form, data []byte) (runtime.Object, error) {
	m := new(corev1.ConfigMap)
	if form.Format == object.JSON {
		return m, json.Unmarshal(data, m)
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(data[len("k8s\x00"):]); err != nil {
		return nil, err
	}
	return m, m.Unmarshal(unknown.Raw)
}

func (c configMaps) Encode(form object.Form, o runtime.Object) ([]byte, error) {
	c.encoded.Add(1)
	return encode(form, o.(*corev1.ConfigMap))
}

func encode(form object.Form, m *corev1.ConfigMap) ([]byte, error) {
	m.TypeMeta = metav1.TypeMeta{Kind: "ConfigMap", APIVersion: form.APIVersion}
	if form.Format == object.JSON {
		return json.Marshal(m)
	}
	var out bytes.Buffer
	err := protobuf.NewSerializer(nil, nil).Encode(m, &out)
	return out.Bytes(), err
}

// settings returns a ConfigMap with values that look like its resourceVersion.
func settings(revision string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "settings", Namespace: "default", UID: "u", ResourceVersion: revision,
			Labels:      map[string]string{"resourceVersion": "7", "quote": `a"b\`},
			Annotations: map[string]string{"last": `{"metadata":{"resourceVersion":"1"}}`},
		},
		Data: map[string]string{"metadata": `"resourceVersion":"2"`, "brackets": "]}{[", "empty": ""},
	}
}

func newObject(t *testing.T, form object.Form, revision string, cache *object.Cache) (*object.Object, configMaps) {
	t.Helper()
	codec := configMaps{cache: cache, encoded: new(atomic.Int32)}
	data, err := encode(form, settings(revision))
	if err != nil {
		t.Fatal(err)
	}
	encoding, err := object.NewEncoding(form, data)
	if err != nil {
		t.Fatal(err)
	}
	return object.New(object.Header{Key: key}, codec, encoding), codec
}

func bytesOf(t *testing.T, by object.Codec, o *object.Object, form object.Form) []byte {
	t.Helper()
	encoding, err := o.Encoding(by, form)
	if err != nil {
		t.Fatal(err)
	}
	return encoding.Bytes()
}

// same checks that an object in form equals settings at a revision, byte for byte.
func same(t *testing.T, by object.Codec, o *object.Object, form object.Form, revision object.Revision) {
	t.Helper()
	want, err := encode(form, settings(revision.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got := bytesOf(t, by, o, form); o.Revision != revision || !bytes.Equal(got, want) {
		t.Errorf("at revision %d the object is of revision %d and is\n%q\nnot\n%q", revision, o.Revision, got, want)
	}
}

func TestStampSupportsRevisionsOfAllWidths(t *testing.T) {
	t.Parallel()
	for _, form := range []object.Form{asJSON, asProtobuf} {
		for _, before := range []string{object.RevisionPlaceholder, "1", "12345678901234567890"} {
			for _, revision := range []object.Revision{1_700_000_000_000_000, 9, 12_345_678_901_234_567_890} {
				t.Run(fmt.Sprint(form.Format, before, revision), func(t *testing.T) {
					t.Parallel()
					o, codec := newObject(t, form, before, nil)
					for _, r := range []object.Revision{revision, revision + 1, 1_700_000_000_000_007} {
						if err := o.Stamp(r); err != nil {
							t.Fatal(err)
						}
						same(t, codec, o, form, r)
					}
				})
			}
		}
	}
}

// The protobuf lengths that enclose the revision need another byte from 128 on.
func TestStampMovesProtobufLengths(t *testing.T) {
	t.Parallel()
	for size := range 200 {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: string(bytes.Repeat([]byte("x"), size+1)),
			ResourceVersion: "1"}}
		data, err := encode(asProtobuf, m)
		if err != nil {
			t.Fatal(err)
		}
		encoding, err := object.NewEncoding(asProtobuf, data)
		if err != nil {
			t.Fatal(err)
		}
		codec := configMaps{encoded: new(atomic.Int32)}
		o := object.New(object.Header{Key: key}, codec, encoding)
		if err := o.Stamp(1_700_000_000_000_000); err != nil {
			t.Fatal(err)
		}
		m.ResourceVersion = "1700000000000000"
		if want, err := encode(asProtobuf, m); err != nil || !bytes.Equal(bytesOf(t, codec, o, asProtobuf), want) {
			t.Fatalf("with a name of %d bytes the object is\n%q\nnot\n%q (%v)", size+1,
				bytesOf(t, codec, o, asProtobuf), want, err)
		}
	}
}

func TestAtReturnsCopy(t *testing.T) {
	t.Parallel()
	for _, form := range []object.Form{asJSON, asProtobuf} {
		o, codec := newObject(t, form, object.RevisionPlaceholder, nil)
		if err := o.Stamp(1_700_000_000_000_000); err != nil {
			t.Fatal(err)
		}
		for _, r := range []object.Revision{1_700_000_000_000_009, 5} {
			later, err := o.At(r)
			if err != nil {
				t.Fatal(err)
			}
			same(t, codec, later, form, r)
			same(t, codec, o, form, 1_700_000_000_000_000)
		}
	}
}

func TestEncodingWithoutRevisionIsRejected(t *testing.T) {
	t.Parallel()
	unknown := func(raw string) []byte {
		data, err := (&runtime.Unknown{Raw: []byte(raw)}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte("k8s\x00"), data...)
	}
	for _, test := range []struct {
		form object.Form
		data []byte
	}{
		{asJSON, []byte(`{"kind":"ConfigMap","apiVersion":"v1"}`)},
		{asJSON, []byte(`{"metadata":{"name":"resourceVersion"}}`)},
		{asJSON, []byte(`{"metadata":{"resourceVersion":7}}`)},
		{asJSON, []byte(`{"metadata":{}}`)},
		{asJSON, []byte(`{"metadata":null}`)},
		{asJSON, []byte(`{}`)},
		{asJSON, nil},
		{asProtobuf, []byte(`{"metadata":{"resourceVersion":"7"}}`)},
		{asProtobuf, unknown("")},
		{asProtobuf, unknown("\x0a\x02\x0a\x00")},
		{asProtobuf, []byte("k8s\x00")},
	} {
		if _, err := object.NewEncoding(test.form, test.data); err == nil {
			t.Errorf("%q was accepted as %s", test.data, test.form.Format)
		}
	}
}

func TestEncodingFindsRevisionAfterAnyValue(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`{"metadata":{"resourceVersion":"1"}}`,
		`{"a":1,"b":-2.5e3,"c":true,"d":null,"e":"}\\\"","f":{},"g":[],"metadata":{"a":[{"x":["]"]},1],"resourceVersion":"1","z":0},"y":1}`,
		`{"spec":{"metadata":{"resourceVersion":"5"},"deep":[[[{"a":{}}]],{}]},"metadata":{"generation":3,"resourceVersion":"1"}}`,
		`{"apiVersion":"v1","kind":"T","metadata":{"labels":{"resourceVersion":"9"},"resourceVersion":"1"}}`,
	} {
		encoding, err := object.NewEncoding(asJSON, []byte(data))
		if err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		codec := configMaps{encoded: new(atomic.Int32)}
		o := object.New(object.Header{Key: key}, codec, encoding)
		if err := o.Stamp(42); err != nil {
			t.Error(err)
		}
		want := bytes.Replace([]byte(data), []byte(`"resourceVersion":"1"`), []byte(`"resourceVersion":"42"`), 1)
		if got := bytesOf(t, codec, o, asJSON); !bytes.Equal(got, want) {
			t.Errorf("stamped it is\n%s\nnot\n%s", got, want)
		}
	}
}

func TestSecondFormIsEncodedOnce(t *testing.T) {
	t.Parallel()
	cache := object.NewCache(1 << 20)
	o, codec := newObject(t, asJSON, object.RevisionPlaceholder, cache)
	if err := o.Stamp(1_700_000_000_000_000); err != nil {
		t.Fatal(err)
	}
	same(t, codec, o, asProtobuf, 1_700_000_000_000_000)
	same(t, codec, o, asProtobuf, 1_700_000_000_000_000)
	if codec.encoded.Load() != 1 || cache.Used() != len(bytesOf(t, codec, o, asProtobuf)) {
		t.Errorf("the second form was encoded %d times, want once; %d bytes are cached", codec.encoded.Load(),
			cache.Used())
	}
}

func TestCacheStaysWithinBudget(t *testing.T) {
	t.Parallel()
	data, err := encode(asProtobuf, settings(object.RevisionPlaceholder))
	if err != nil {
		t.Fatal(err)
	}
	cache := object.NewCache(3 * len(data))
	var objects []*object.Object
	var codecs []configMaps
	for range 5 {
		o, codec := newObject(t, asJSON, object.RevisionPlaceholder, cache)
		bytesOf(t, codec, o, asProtobuf)
		objects, codecs = append(objects, o), append(codecs, codec)
	}
	if cache.Used() > 3*len(data) || cache.Used() < 2*len(data) {
		t.Errorf("got %d cached bytes, want at most the budget of %d", cache.Used(), 3*len(data))
	}
	// The newest first: each new encoding evicts the oldest.
	for i := 4; i >= 0; i-- {
		bytesOf(t, codecs[i], objects[i], asProtobuf)
		if repeated := codecs[i].encoded.Load() == 2; repeated != (i < 2) {
			t.Errorf("object %d of 5: got encoded again %t, want %t", i, repeated, i < 2)
		}
	}
}

// The cache does not keep objects alive.
func TestCacheDoesNotRetainObjects(t *testing.T) {
	t.Parallel()
	cache := object.NewCache(1 << 20)
	held := func() weak.Pointer[object.Object] {
		o, codec := newObject(t, asJSON, "5", cache)
		bytesOf(t, codec, o, asProtobuf)
		return weak.Make(o)
	}()
	goruntime.GC()
	if held.Value() != nil || cache.Used() == 0 {
		t.Errorf("the cache holds %v and counts %d bytes", held.Value(), cache.Used())
	}
}

func TestDecodedIsSharedAndDecodeCopies(t *testing.T) {
	t.Parallel()
	o, codec := newObject(t, asProtobuf, "5", nil)
	first, err := o.Decoded(codec)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := o.Decoded(codec)
	own, _ := o.Decode(codec)
	if first != second || own == first || own.(*corev1.ConfigMap).Data["brackets"] != "]}{[" {
		t.Errorf("decoded objects: %p, %p, own %p", first, second, own)
	}
}

// A Go object that is shared before the commit gets the revision of the commit, like the encoding.
func TestStampSetsRevisionOfSharedObject(t *testing.T) {
	t.Parallel()
	o, codec := newObject(t, asProtobuf, object.RevisionPlaceholder, nil)
	obj := settings("")
	object.Share(o, codec, obj)
	if err := o.Stamp(7); err != nil {
		t.Fatal(err)
	}
	same(t, codec, o, asProtobuf, 7)
	if got, err := o.Decoded(codec); err != nil || got != runtime.Object(obj) || obj.ResourceVersion != "7" {
		t.Errorf("Decoded returned %v, %v, want the shared object at revision 7", got, err)
	}
}

func TestDecodeErrorNamesObject(t *testing.T) {
	t.Parallel()
	encoding, err := object.NewEncoding(asJSON, []byte(`{"metadata":{"resourceVersion":"1"},"data":7}`))
	if err != nil {
		t.Fatal(err)
	}
	codec := configMaps{encoded: new(atomic.Int32)}
	o := object.New(object.Header{Key: key}, codec, encoding)
	for name, read := range map[string]func() error{
		"decode":      func() error { _, err := o.Decode(codec); return err },
		"decoded":     func() error { _, err := o.Decoded(codec); return err },
		"second form": func() error { _, err := o.Encoding(codec, asProtobuf); return err },
	} {
		if err := read(); err == nil || !bytes.Contains([]byte(err.Error()), []byte(key)) {
			t.Errorf("%s returned %v", name, err)
		}
	}
}
