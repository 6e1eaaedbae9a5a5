package client_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
)

// FuzzList checks that an answer is either rejected or decoded to the objects that a decoder of whole lists finds, with
// the same headers. A missing object would be regarded as deleted.
func FuzzList(f *testing.F) {
	f.Add([]byte(twoMaps))
	f.Add([]byte(`{"items":[5,null,{"metadata":{"name":"a","resourceVersion":"5","labels":null}}],"metadata":{"resourceVersion":"9"},"kind":"L"}`))
	f.Add([]byte(`{"it\u0065ms":[{"metadata":{"name":"a","resourceVersion":"5"}}],"metadata":{"resourceVersion":"9"}}`))
	f.Add(message(f, &corev1.ConfigMapList{
		TypeMeta: metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: "9"},
		Items:    []corev1.ConfigMap{fuzzedMap("a"), fuzzedMap("b")},
	}))
	for _, size := range []uint64{5, 1 << 50, 1<<63 + 5, 1<<64 - 1} {
		f.Add(announcing(2, 2, size))
	}
	server := &fixedBody{}
	source := server.source(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		server.body = data
		list, err := source.List(t.Context(), configmaps, client.Options{Protobuf: true})
		if err != nil {
			return
		}
		var want metav1.PartialObjectMetadataList
		if !decodes(data, &want) {
			return
		}
		revision, err := object.ParseRevision(want.ResourceVersion)
		if err != nil || list.Revision != revision || len(list.Items)+len(list.Unreadable) != len(want.Items) {
			t.Fatalf("got %d and %d items at %d, want %d at %q", len(list.Items), len(list.Unreadable), list.Revision,
				len(want.Items), want.ResourceVersion)
		}
		left := list.Items
		for i := range want.Items {
			if len(left) > 0 && sameHeader(left[0], &want.Items[i]) {
				left = left[1:]
			}
		}
		if len(left) > 0 {
			t.Errorf("got no item with the header %+v at %d", left[0].Header, left[0].Revision)
		}
	})
}

// FuzzWatch checks that the events of a watch are those that a decoder of whole bodies finds, up to the first error of
// either.
func FuzzWatch(f *testing.F) {
	f.Add([]byte(addedMap + nameless + "\n" + addedMap))
	f.Add([]byte(addedMap +
		`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5"}}}{"type":"ERROR","object":{"kind":"Status","code":410}}`))
	f.Add([]byte(`{"object":{"metadata":{"name":"a\ud800","resourceVersion":"05","labels":null,"ownerReferences":[{"uid":null}]}},"type":"ADDED"}`))
	cm := fuzzedMap("a")
	for _, kind := range []string{"ADDED", "BOOKMARK", "ERROR"} {
		event := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: message(f, &cm)}}
		data, err := event.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	}
	f.Add([]byte{3, 255, 255, 255, 10})
	server := &fixedBody{}
	source := server.source(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		server.body = data
		w, err := source.Watch(t.Context(), configmaps, client.Options{Protobuf: true, After: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		var got []client.Event
		for err == nil {
			var more []client.Event
			more, err = w.Next(t.Context())
			got = append(got, more...)
		}
		for i, want := range wholeEvents(data) {
			if i == len(got) {
				return
			}
			if got[i].Type == watch.Error {
				continue // its object has no header
			}
			revision, err := object.ParseRevision(want.object.ResourceVersion)
			if string(got[i].Type) != want.kind || err != nil || got[i].Revision != revision ||
				got[i].Object != nil && !sameHeader(got[i].Object, &want.object) {
				t.Fatalf("event %d: got %+v, want %+v", i, got[i], want)
			}
		}
	})
}

type wholeEvent struct {
	kind   string
	object metav1.PartialObjectMetadata
}

// wholeEvents decodes the events of a watch up to the first that it cannot decode.
func wholeEvents(data []byte) (events []wholeEvent) {
	next := nextMessage
	if len(data) > 0 && data[0] >= '\t' {
		next = nextLine
	}
	for {
		var event metav1.WatchEvent
		var whole wholeEvent
		var ok bool
		if data, ok = next(data, &event); !ok || !decodes(event.Object.Raw, &whole.object) {
			return events
		}
		whole.kind = event.Type
		events = append(events, whole)
	}
}

func nextLine(data []byte, event *metav1.WatchEvent) (rest []byte, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	ok = decoder.Decode(&raw) == nil && unambiguous(raw) && utiljson.Unmarshal(raw, event) == nil
	return data[decoder.InputOffset():], ok
}

func nextMessage(data []byte, event *metav1.WatchEvent) (rest []byte, ok bool) {
	if len(data) < 4 || uint64(len(data)-4) < uint64(binary.BigEndian.Uint32(data)) {
		return nil, false
	}
	end := 4 + int(binary.BigEndian.Uint32(data))
	return data[end:], event.Unmarshal(data[4:end]) == nil
}

func fuzzedMap(name string) corev1.ConfigMap {
	return corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", ResourceVersion: "5", UID: "u",
			Labels:          map[string]string{"l": name},
			OwnerReferences: []metav1.OwnerReference{{UID: "o"}}},
		Data: map[string]string{"k": "v"},
	}
}

// message is an object in protobuf, in its envelope.
func message(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	var data bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(obj, &data); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// decodes decodes metadata as Kubernetes' types do. It returns false on an error.
func decodes(data []byte, into interface {
	Unmarshal(data []byte) error
}) bool {
	message, ok := bytes.CutPrefix(data, []byte(object.ProtobufMagic))
	if !ok {
		return unambiguous(data) && utiljson.Unmarshal(data, into) == nil
	}
	var envelope runtime.Unknown
	return envelope.Unmarshal(message) == nil && into.Unmarshal(envelope.Raw) == nil
}

// unambiguous reports whether no JSON object has a duplicate name, whose meaning RFC 8259 leaves open.
func unambiguous(data []byte) bool {
	var all any
	twice, err := kjson.UnmarshalStrict(data, &all)
	return err == nil && len(twice) == 0
}

func sameHeader(o *object.Object, want *metav1.PartialObjectMetadata) bool {
	var owners []types.UID
	for _, owner := range want.OwnerReferences {
		owners = append(owners, owner.UID)
	}
	none := func(uid types.UID) bool { return uid == "" }
	revision, err := object.ParseRevision(want.ResourceVersion)
	return err == nil && o.Revision == revision && o.UID == want.UID && maps.Equal(o.Labels, want.Labels) &&
		o.Key == object.KeyOf(configmaps.GroupResource(), want.Namespace, want.Name) &&
		slices.Equal(slices.DeleteFunc(slices.Clone(o.Owners), none), slices.DeleteFunc(owners, none))
}
