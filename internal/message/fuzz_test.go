package message_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bowline-dev/bowline/internal/message"
)

// fuzzedTypes have fields of all shapes: maps, maps of messages, bytes, pointers, recursive structs, quantities, times
// and IntOrStrings.
var fuzzedTypes = []reflect.Type{
	reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[corev1.Node](),
	reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[networkingv1.Ingress](),
	reflect.TypeFor[resourcev1.ResourceClaim](), reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](),
	reflect.TypeFor[admissionregistrationv1.ValidatingWebhookConfiguration](),
}

func typeAt(n uint8) reflect.Type { return fuzzedTypes[int(n)%len(fuzzedTypes)] }

func seedMessages(f *testing.F) {
	f.Helper()
	fill := filler(3)
	for i, of := range fuzzedTypes {
		obj := reflect.New(of).Interface().(protobuf)
		fill.Fill(obj)
		data, err := obj.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		data = data[:min(len(data), 2_000)] // the rest resembles it, and short seeds mutate faster
		f.Add(uint8(i), data)
		f.Add(uint8(i), data[:len(data)/2])
	}
	f.Add(uint8(0), field(2, []byte{14 << 3, 5})) // a number in the place of a struct
	f.Add(uint8(5), bytes.Repeat(field(3, field(4, field(5, field(1, []byte("x"))))), 2))
}

// FuzzRead checks that Read, with a cache that has the same parts already, rejects the messages that Unmarshal rejects,
// and decodes the others to the same objects.
func FuzzRead(f *testing.F) {
	seedMessages(f)
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		of := typeAt(which)
		decode := func(with func([]byte, message.Unmarshaler) error) (any, error) {
			into := reflect.New(of).Interface().(message.Unmarshaler)
			err := with(slices.Clone(data), into)
			return into, err
		}
		want, wantErr := decode(func(data []byte, into message.Unmarshaler) error { return into.Unmarshal(data) })
		r := message.NewReader()
		for range 3 { // the second finds parts of the first in the cache
			got, err := decode(r.Read)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%s %q: got error %v, want %v", of, data, err, wantErr)
			}
			if err == nil && !equality.Semantic.DeepEqual(got, want) {
				t.Fatalf("%s %q: got %+v, want %+v", of, data, got, want)
			}
		}
	})
}

// FuzzCountFields checks that a count exceeds neither its limit nor one and a half of the length of the message, and
// that a message that Unmarshal accepts has as many fields at least as what Unmarshal makes of it has items.
func FuzzCountFields(f *testing.F) {
	seedMessages(f)
	f.Add(uint8(0), slices.Concat([]byte("\x88\x80\x80\x80\x80\x01\x00"), bytes.Repeat(field(2, field(2, nil)), 3)))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		of := typeAt(which)
		n := message.CountFields(data, of, 1<<20)
		if 2*n > 3*len(data) { // a nested message takes two bytes and counts three times
			t.Errorf("%s %q: got %d fields in %d bytes", of, data, n, len(data))
		}
		if limited := message.CountFields(data, of, 5); limited != min(n, 5) {
			t.Errorf("%s %q: got %d of %d fields, want at most 5", of, data, limited, n)
		}
		obj := reflect.New(of).Interface().(protobuf)
		if err := obj.Unmarshal(data); err != nil {
			return
		}
		if items := countItems(reflect.ValueOf(obj).Elem()); n < items {
			t.Errorf("%s %q: got %d fields, but it has %d items", of, data, n, items)
		}
	})
}

// countItems returns the number of items in the lists and maps of a value, except bytes.
func countItems(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			n = countItems(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return 0
		}
		for i := range v.Len() {
			n += 1 + countItems(v.Index(i))
		}
	case reflect.Map:
		return v.Len()
	case reflect.Struct:
		for f, field := range v.Fields() {
			if f.IsExported() {
				n += countItems(field)
			}
		}
	}
	return n
}
