package object_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
)

// louder is a codec for another definition of the same kind: Adopt returns values in capitals.
type louder struct{ configMaps }

func (l louder) Adopt(form object.Form, data []byte) (runtime.Object, error) {
	obj, err := l.Decode(form, data)
	if err == nil {
		for name, value := range obj.(*corev1.ConfigMap).Data {
			obj.(*corev1.ConfigMap).Data[name] = strings.ToUpper(value)
		}
	}
	return obj, err
}

func TestObjectIsDecodedWithReadersCodec(t *testing.T) {
	t.Parallel()
	o, writer := newObject(t, asJSON, "5", object.NewCache(1<<20))
	other := writer
	other.definition = 7
	changed := louder{other}
	if !o.Fresh(writer, asJSON) || o.Fresh(changed, asJSON) || o.Fresh(writer, asProtobuf) {
		t.Error("Fresh is true for a codec with another stamp")
	}
	for range 2 { // the second round must not return the other reader's cached encoding
		for _, form := range []object.Form{asJSON, asProtobuf} {
			if got := string(bytesOf(t, writer, o, form)); !strings.Contains(got, "resourceVersion") ||
				strings.Contains(got, "RESOURCEVERSION") {
				t.Errorf("a reader with the writer's codec got %q", got)
			}
			if got := string(bytesOf(t, changed, o, form)); !strings.Contains(got, "RESOURCEVERSION") {
				t.Errorf("a reader with another definition got %q", got)
			}
		}
		for codec, want := range map[object.Codec]string{writer: `"resourceVersion":"2"`,
			changed: `"RESOURCEVERSION":"2"`} {
			obj, err := o.Decoded(codec)
			if err != nil || obj.(*corev1.ConfigMap).Data["metadata"] != want {
				t.Errorf("Decode returned %v, %v", obj, err)
			}
		}
	}
}

// sharer is a codec with a custom DecodeShared.
type sharer struct {
	configMaps
	share func(*object.Encoding) (runtime.Object, error)
}

func (s sharer) DecodeShared(e *object.Encoding) (runtime.Object, error) { return s.share(e) }

func TestOnlyOwnCodecDecodesShared(t *testing.T) {
	t.Parallel()
	o, writer := newObject(t, asJSON, "5", object.NewCache(1<<20))
	all := &corev1.ConfigMap{}
	codec := sharer{writer, func(*object.Encoding) (runtime.Object, error) { return all, nil }}
	if own, err := o.Decode(codec); err != nil || own == runtime.Object(all) {
		t.Errorf("Decode returned the shared object %p, %v", own, err)
	}
	other := codec
	other.definition = 7
	if got, err := o.Decoded(louder{other.configMaps}); err != nil || got == runtime.Object(all) {
		t.Errorf("a reader with another definition got %p, %v", got, err)
	}
	if got, err := o.Decoded(other); err != nil || got == runtime.Object(all) {
		t.Errorf("a reader with another codec got %p, %v", got, err)
	}
	if got, err := o.Decoded(codec); err != nil || got != runtime.Object(all) {
		t.Errorf("Decoded returned %p, %v", got, err)
	}
	fails := sharer{writer, func(*object.Encoding) (runtime.Object, error) {
		return all, errors.New("injected failure")
	}}
	o, err := o.At(6)
	if err != nil {
		t.Fatal(err)
	}
	const broken = "at revision 6 cannot be decoded: injected failure"
	if got, err := o.Decoded(fails); got != nil || err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("Decoded with a failing codec returned %v, %v", got, err)
	}
}

func TestFramesUseReadersCodec(t *testing.T) {
	t.Parallel()
	e, writer := update(t, asJSON)
	other := writer.(configMaps)
	other.definition = 7
	for range 2 {
		for codec, want := range map[object.Codec]bool{writer: false, louder{other}: true} {
			frame, err := e.Frame(codec, watch.Modified, asJSON)
			if err != nil || strings.Contains(string(frame), "RESOURCEVERSION") != want {
				t.Errorf("got frame %q, %v", frame, err)
			}
		}
	}
}

// Servers with different definitions of a kind read a shared object concurrently.
func TestReadersOfTwoCodecsAreSeparate(t *testing.T) {
	t.Parallel()
	o, writer := newObject(t, asJSON, "5", object.NewCache(1<<20))
	var group sync.WaitGroup
	for i := range 16 {
		other := writer
		other.definition = object.Stamp(i % 4)
		var codec object.Codec = other
		if i%4 != 0 {
			codec = louder{other}
		}
		group.Go(func() {
			for range 100 {
				obj, err := o.Decoded(codec)
				if err != nil || strings.Contains(obj.(*corev1.ConfigMap).Data["metadata"], "RESOURCE") != (i%4 != 0) {
					t.Errorf("reader %d got %v, %v", i, obj, err)
				}
				e, err := o.Encoding(codec, asProtobuf)
				if err != nil || strings.Contains(string(e.Bytes()), "RESOURCE") != (i%4 != 0) {
					t.Errorf("reader %d got %q, %v", i, e.Bytes(), err)
				}
			}
		})
	}
	group.Wait()
}

// The cached encodings of old codecs are dropped.
func TestEncodingsOfOldCodecsAreDropped(t *testing.T) {
	t.Parallel()
	o, writer := newObject(t, asJSON, "5", object.NewCache(1<<20))
	var codecs []configMaps
	for i := range 40 {
		writer.definition = object.Stamp(i + 1)
		bytesOf(t, writer, o, asProtobuf)
		codecs = append(codecs, writer)
	}
	before := writer.encoded.Load()
	for _, codec := range codecs {
		bytesOf(t, codec, o, asProtobuf)
	}
	if encoded := writer.encoded.Load() - before; encoded < 30 {
		t.Errorf("of 40 encodings, only %d were dropped", encoded)
	}
}

func TestRecordStoresStamp(t *testing.T) {
	t.Parallel()
	o, writer := newObject(t, asJSON, "5", object.NewCache(1<<20))
	o.Revision = 5
	var r object.Reader
	got, err := r.Read(o.Key, 5, o.AppendRecord(nil))
	if err != nil {
		t.Fatal(err)
	}
	other := writer
	other.definition++
	if !got.Fresh(writer, asJSON) || got.Fresh(other, asJSON) {
		t.Error("a record that was read has lost the stamp of its codec")
	}
	same(t, writer, got, asProtobuf, 5)
}
