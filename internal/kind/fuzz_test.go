package kind_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// huge matches the numbers that resource.Quantity accepts and takes hours to expand.
var huge = regexp.MustCompile(`^[+-]?([0-9]{1,256}(\.[0-9]{0,256})?|\.[0-9]{1,256})[eE][+-]?[0-9]{4,}$`)

// FuzzHugeQuantities sends a text as a quantity, in JSON and in protobuf, between other texts. If it is huge, it is
// masked. If it is not masked, it is parsed at once: the fuzzer fails for an input that takes ten seconds. Masking
// changes nothing but exponents.
func FuzzHugeQuantities(f *testing.F) {
	for _, text := range []string{"1", "1e3", "1e1000", "-1E+99999", ".5e9999", "1e", "e9999", "1Ki", "0x1e9999",
		"1e9999Ki", strings.Repeat("1", 300), "1." + strings.Repeat("0", 250) + "e9999", "1e\x00009999", " 1e9999"} {
		f.Add("cpu", text, "1")
		f.Add("-.", text, "9e")
	}
	f.Fuzz(func(t *testing.T, before, text, after string) {
		asJSON, err := json.Marshal([]string{before, text, after})
		if err != nil {
			t.Fatal(err)
		}
		message := object.AppendField(nil, 1, before)
		message = object.AppendField(message, 2, object.AppendField(nil, 1, text))
		message = object.AppendField(message, 1, after)
		for format, data := range map[object.Format][]byte{object.JSON: asJSON, object.Protobuf: message} {
			masked := kind.MaskHugeQuantities(format, data)
			changes := 0
			for i := range data {
				if data[i] == masked[i] {
					continue
				}
				changes++
				if masked[i] != '!' || strings.IndexByte("eE0123456789", data[i]) < 0 {
					t.Fatalf("%s %q is masked as %q", format, data, masked)
				}
			}
			if changes > 0 {
				continue
			}
			if huge.MatchString(text) {
				t.Errorf("%s %q is not masked", format, data)
			} else if len(data) <= 10_000 {
				_, _ = resource.ParseQuantity(text)
			}
		}
	})
}

// FuzzUnmarshal decodes bodies of a typed kind. Its envelope is read as the library reads it, and an object that is
// accepted is the same after it is encoded and decoded.
func FuzzUnmarshal(f *testing.F) {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"l": "x"}, Finalizers: []string{"a.b/c"}},
		Data:       map[string][]byte{"k": {0, 255}}, Immutable: new(bool),
	}
	for _, format := range []object.Format{object.JSON, object.Protobuf} {
		data, err := kind.Marshal(format, secret)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)-3])
	}
	f.Add([]byte(`{"metadata":{"Name":"a"},"data":null,"x":1e400}`))
	f.Add([]byte("k8s\x00\x0a\x00\x0a\x03\x0a\x01v\x12\x00\x22\x01a\x2a\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		format := object.JSON
		if message, ok := strings.CutPrefix(string(body), object.ProtobufMagic); ok {
			format = object.Protobuf
			var unknown runtime.Unknown
			header, err := kind.ProtobufHeader(body)
			wantErr := unknown.Unmarshal([]byte(message))
			if (err == nil) != (wantErr == nil) || header != unknown.TypeMeta {
				t.Fatalf("%q: got header %+v and error %v, want %+v and %v", body, header, err, unknown.TypeMeta, wantErr)
			}
		}
		var read corev1.Secret
		if kind.Unmarshal(format, body, &read) != nil {
			return
		}
		read.Kind, read.APIVersion = "Secret", "v1"
		written, err := kind.Marshal(object.Protobuf, &read)
		if err != nil {
			t.Fatalf("%q cannot be encoded again: %v", body, err)
		}
		var again corev1.Secret
		if err := kind.Unmarshal(object.Protobuf, written, &again); err != nil {
			t.Fatalf("%q is encoded as %q, which is rejected: %v", body, written, err)
		}
		again.Kind, again.APIVersion = "Secret", "v1"
		if twice, err := kind.Marshal(object.Protobuf, &again); err != nil || string(twice) != string(written) {
			t.Errorf("%q is encoded as %q, and then as %q (%v)", body, written, twice, err)
		}
	})
}
