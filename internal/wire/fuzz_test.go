package wire_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/internal/wire"
)

// FuzzRead decodes any answer of a server into a Go struct and into maps. JSON is decoded as the library does, and what
// EncodeBody makes of an object is read as the same object. An error has a message of limited length.
func FuzzRead(f *testing.F) {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b", Labels: map[string]string{"l": "x"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{HostPort: 1}}}}}}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	message, _, err := wire.EncodeBody(pod, gvk)
	if err != nil {
		f.Fatal(err)
	}
	text, err := wire.Encode(pod)
	if err != nil {
		f.Fatal(err)
	}
	for _, data := range [][]byte{message, message[:len(message)/2], text, text[:len(text)/2],
		[]byte(`{"kind":"Pod","spec":{"containers":[{"ports":[{"hostPort":"x"}]}],"nodeSelector":{"a":1}}}`),
		[]byte(`{"metadata":{"creationTimestamp":"now","labels":[]}}`), []byte("<html>"), []byte("k8s\x00"), []byte(`[[[{}]]]`)} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		wire.NameOf(data)
		if u, err := wire.Read[*unstructured.Unstructured](data); err != nil {
			checkError(t, data, err)
		} else if _, err := wire.Encode(u.Object); err != nil {
			t.Errorf("%q is decoded, but cannot be encoded: %v", data, err)
		}
		got, err := wire.Read[*corev1.Pod](data)
		if err != nil {
			checkError(t, data, err)
			return
		}
		if !wire.IsProtobuf(data) {
			var want corev1.Pod
			if err := utiljson.Unmarshal(data, &want); err != nil || !reflect.DeepEqual(got.Spec, want.Spec) ||
				!reflect.DeepEqual(got.ObjectMeta, want.ObjectMeta) {
				t.Fatalf("%q: got %+v, want %+v (%v)", data, got, want, err)
			}
		}
		body, _, err := wire.EncodeBody(got, gvk)
		if err != nil {
			t.Fatalf("%q is decoded, but cannot be encoded: %v", data, err)
		}
		again, err := wire.Read[*corev1.Pod](body)
		if err != nil && got.Kind == "Pod" {
			t.Fatalf("%q is encoded as %q, which is rejected: %v", data, body, err)
		}
		if twice, _, _ := wire.EncodeBody(again, gvk); err == nil && string(twice) != string(body) {
			t.Errorf("%q is encoded as %q, and then as %q", data, body, twice)
		}
	})
}

// checkError checks that the message of an error is short: it quotes parts of the answer.
func checkError(t *testing.T, data []byte, err error) {
	t.Helper()
	if n := len(err.Error()); n == 0 || n > 2_000+4*len(data) {
		t.Errorf("%q: got an error of %d bytes", data, n)
	}
}

// FuzzOnlyFields selects fields of any message. A library reads the selected fields as it reads them in the whole.
func FuzzOnlyFields(f *testing.F) {
	meta := metav1.ObjectMeta{Name: "a", Namespace: "b", UID: "u", Labels: map[string]string{"l": "x"}, Generation: 3}
	message, err := meta.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(message)
	f.Add(append(message, message...))
	f.Add([]byte("\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const name, uid = 1 << 1, 1 << 5
		only, err := wire.OnlyFields(data, name|uid)
		var whole, part metav1.ObjectMeta
		if err != nil || whole.Unmarshal(data) != nil {
			return
		}
		if err := part.Unmarshal(only); err != nil || part.Name != whole.Name || part.UID != whole.UID || part.Namespace != "" {
			t.Errorf("%q: got %+v, want name and uid of %+v (%v)", data, part, whole, err)
		}
	})
}
