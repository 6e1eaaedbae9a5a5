package v1alpha1_test

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind/builtin/admissionregistration/v1alpha1"
)

// FuzzInitializerConfiguration decodes arbitrary bytes: if decoding succeeds, encoding and decoding the
// result must not change it, and the encoding must have the size that Size returns.
func FuzzInitializerConfiguration(f *testing.F) {
	rule := v1alpha1.Rule{APIGroups: []string{"", "apps"}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}
	for _, seed := range []*v1alpha1.InitializerConfiguration{
		{}, {
			ObjectMeta:   metav1.ObjectMeta{Name: "a", Labels: map[string]string{"k": "v"}},
			Initializers: []v1alpha1.Initializer{{Name: "a.b.c", Rules: []v1alpha1.Rule{{}, rule}}},
		},
	} {
		message, err := seed.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
		f.Add(append(message, message...))
		f.Add(message[:len(message)/2])
	}
	f.Add([]byte("\x12\x04\x12\x02\x0a\x05"))
	f.Fuzz(func(t *testing.T, message []byte) {
		var read, again v1alpha1.InitializerConfiguration
		if read.Unmarshal(message) != nil {
			return
		}
		written := make([]byte, read.Size())
		if n, err := read.MarshalTo(written); err != nil || n != len(written) {
			t.Fatalf("%+v is written in %d of %d bytes: %v", read, n, len(written), err)
		}
		if err := again.Unmarshal(written); err != nil {
			t.Fatalf("%+v cannot be read again: %v", read, err)
		}
		if once, err := again.Marshal(); err != nil || !bytes.Equal(written, once) {
			t.Fatalf("%q is read and written as %q, and then as %q (%v)", message, written, once, err)
		}
	})
}
