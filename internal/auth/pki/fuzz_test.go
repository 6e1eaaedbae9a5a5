package pki

import (
	"bytes"
	"testing"
	"time"
)

// FuzzDecode reads the files of a pki folder. A pair that is accepted has a key that belongs to its certificate, and is
// written as a text that is read as the same pair.
func FuzzDecode(f *testing.F) {
	ca, err := newAuthority(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err != nil {
		f.Fatal(err)
	}
	leaf, err := ca.server([]string{"localhost", "127.0.0.1"}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err != nil {
		f.Fatal(err)
	}
	for _, pair := range []*Pair{&ca.Pair, leaf} {
		text, err := pair.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
		f.Add(append(ca.CertPEM(), text...))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		pair, err := decode(text)
		if err != nil {
			return
		}
		written, err := pair.encode()
		if err != nil {
			t.Fatalf("%q is read, but cannot be written: %v", text, err)
		}
		again, err := decode(written)
		if err != nil || !again.Certificate.Equal(pair.Certificate) {
			t.Fatalf("%q is written as %q: %v", text, written, err)
		}
		if twice, err := again.encode(); err != nil || !bytes.Equal(twice, written) {
			t.Errorf("%q is written as %q, and then as %q (%v)", text, written, twice, err)
		}
	})
}
