package client_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// threeMaps is a list in protobuf: the second item has invalid data, the third has no revision.
func threeMaps(t *testing.T) []byte {
	t.Helper()
	maps := corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
	for i, name := range []string{"a", "spoiled", "nowhen"} {
		maps.Items = append(maps.Items, corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u",
				ResourceVersion: []string{"5", "6", ""}[i], Labels: map[string]string{"l": "x"},
				OwnerReferences: []metav1.OwnerReference{{UID: "owner"}}},
			Data: map[string]string{"key": "value of " + name},
		})
	}
	raw, err := maps.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	// longer than its entry
	raw = []byte(strings.Replace(string(raw), "\x12\x10value of spoiled", "\x12\x7fvalue of spoiled", 1))
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, Raw: raw}
	data, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(object.ProtobufMagic), data...)
}

// Items that are decoded as they arrive are equal to items that are decoded later, but do not retain their bytes.
func TestEagerAndLazyItemsAreEqual(t *testing.T) {
	t.Parallel()
	source := (&fixedBody{threeMaps(t)}).source(t)
	options := client.Options{Protobuf: true}
	later, err := source.List(t.Context(), configmaps, options)
	if err != nil || len(later.Items) != 2 {
		t.Fatalf("got list %v, %v", later, err)
	}
	options.New = func() client.Object { return &corev1.ConfigMap{} }
	now, err := source.List(t.Context(), configmaps, options)
	if err != nil || len(now.Items) != 2 || len(now.Unreadable) != 1 || now.Revision != later.Revision {
		t.Fatalf("got list %v, %v", now, err)
	}
	for i, o := range now.Items {
		if !reflect.DeepEqual(o.Header, later.Items[i].Header) || o.Revision != later.Items[i].Revision {
			t.Errorf("got header %+v at %d, want %+v", o.Header, o.Revision, later.Items[i].Header)
		}
		got, readErr := wire.ReadObject[*corev1.ConfigMap](o)
		want, err := wire.ReadObject[*corev1.ConfigMap](later.Items[i])
		if diff := cmp.Diff(want, got); diff != "" && err == nil || (err == nil) != (readErr == nil) ||
			(err == nil) != (i == 0) {
			t.Errorf("%v and %v (-later +on arrival):\n%s", err, readErr, diff)
		}
	}
	if !now.Items[0].IsReady() || now.Items[1].IsReady() || later.Items[0].IsReady() {
		t.Error("an item that was decoded on arrival retains its bytes, or another one does not")
	}
}

func TestDecodedItemIsReturnedAsCopy(t *testing.T) {
	t.Parallel()
	list, err := (&fixedBody{threeMaps(t)}).source(t).List(t.Context(), configmaps,
		client.Options{Protobuf: true, New: func() client.Object { return &corev1.ConfigMap{} }})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := wire.ReadObject[*corev1.ConfigMap](list.Items[0])
	if err != nil {
		t.Fatal(err)
	}
	if mine, err := list.Items[0].Decode(list.Codec); err != nil || mine == runtime.Object(shared) ||
		!reflect.DeepEqual(mine, shared) {
		t.Errorf("got copy %v, %v", mine, err)
	}
	if secret, err := wire.ReadObject[*corev1.Secret](list.Items[0]); err == nil ||
		!strings.Contains(err.Error(), "ns/a: it was read into another Go type than *v1.Secret") {
		t.Errorf("got the Secret %+v, %v, want an error", secret, err)
	}
}

// Items of another kind than the reader expects are not decoded as the expected kind.
func TestItemsOfOtherKindAreNotDecodedEagerly(t *testing.T) {
	t.Parallel()
	list, err := (&fixedBody{threeMaps(t)}).source(t).List(t.Context(), configmaps,
		client.Options{Protobuf: true, New: func() client.Object { return &corev1.Secret{} }})
	if err != nil || list.Items[0].IsReady() {
		t.Errorf("got list %+v, %v", list, err)
	}
}
