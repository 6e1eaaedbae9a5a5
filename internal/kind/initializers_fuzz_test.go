package kind

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzInitializersMessage decodes arbitrary bytes as metadata.initializers: if decoding succeeds, encoding
// and decoding the result must not change it.
func FuzzInitializersMessage(f *testing.F) {
	for _, seed := range []*Initializers{
		{}, {Pending: []Initializer{{}, {Name: "a.b.c"}}},
		{Pending: []Initializer{{Name: "a.b.c"}}, Result: &metav1.Status{Status: "Failure", Code: 403}},
	} {
		message, err := seed.marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
		f.Add(append(message, message...))
		f.Add(message[:len(message)/2])
	}
	f.Add([]byte("\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"))
	f.Fuzz(func(t *testing.T, message []byte) {
		var read, again Initializers
		if read.unmarshal(message) != nil {
			return
		}
		written, err := read.marshal()
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", read, err)
		}
		if err := again.unmarshal(written); err != nil {
			t.Fatalf("%+v cannot be read again: %v", read, err)
		}
		if once, err := again.marshal(); err != nil || !bytes.Equal(written, once) {
			t.Fatalf("%q is read and written as %q, and then as %q (%v)", message, written, once, err)
		}
	})
}
