package object_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

func TestTypedListItemsOmitKindAndVersion(t *testing.T) {
	t.Parallel()
	o, codec := newObject(t, asJSON, "5", nil)
	encoding, err := o.Encoding(codec, asJSON)
	if err != nil {
		t.Fatal(err)
	}
	want := settings("5")
	want.TypeMeta = metav1.TypeMeta{}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := encoding.AppendItem([]byte("[")); !bytes.Equal(got, append([]byte("["), data...)) {
		t.Errorf("the item is\n%s\nnot\n%s", got, data)
	}
}

// The encoding of a custom resource begins with apiVersion, and its list items are whole.
func TestCustomListItemsHaveKindAndVersion(t *testing.T) {
	t.Parallel()
	const data = `{"apiVersion":"samplecrd.k8s.io/v1","kind":"Network","metadata":{"resourceVersion":"1"}}`
	encoding, err := object.NewEncoding(object.Form{APIVersion: "samplecrd.k8s.io/v1"}, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(encoding.AppendItem(nil)); got != data {
		t.Errorf("got item %s", got)
	}
}

func TestProtobufItemsFormList(t *testing.T) {
	t.Parallel()
	var body []byte
	for _, revision := range []object.Revision{5, 1_700_000_000_000_000} {
		o, codec := newObject(t, asProtobuf, "5", nil)
		if err := o.Stamp(revision); err != nil {
			t.Fatal(err)
		}
		encoding, err := o.Encoding(codec, asProtobuf)
		if err != nil {
			t.Fatal(err)
		}
		body = encoding.AppendItem(body)
	}
	var list corev1.ConfigMapList
	if err := list.Unmarshal(body); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 || list.Items[1].ResourceVersion != "1700000000000000" ||
		list.Items[0].Data["brackets"] != "]}{[" {
		t.Errorf("got list %v", list.Items)
	}
}

// WriteItem writes the same bytes whatever space the buffer has left.
func TestWriteItemMatchesAppendItem(t *testing.T) {
	t.Parallel()
	for _, form := range []object.Form{asJSON, asProtobuf} {
		o, _ := newObject(t, form, "5", nil)
		encoding := o.Stored()
		for size := 16; size < 2*encoding.ItemSize(); size++ {
			var got bytes.Buffer
			buffer := bufio.NewWriterSize(&got, size)
			var want []byte
			for range 3 {
				want = encoding.AppendItem(want)
				if err := encoding.WriteItem(buffer); err != nil {
					t.Fatal(err)
				}
			}
			buffer.Flush()
			if !bytes.Equal(got.Bytes(), want) || len(want) != 3*encoding.ItemSize() {
				t.Fatalf("%s through a buffer of %d bytes: %q, want %q", form.Format, size, got.Bytes(), want)
			}
		}
	}
}
