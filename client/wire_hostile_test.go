package client_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// fixedBody is a server that answers each first page and each watch with the same body, and has no second page.
type fixedBody struct{ body []byte }

func (s *fixedBody) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.URL.Query().Get("continue") != "" {
		return nil, errors.New("there is no second page")
	}
	return &http.Response{Request: q, StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(s.body))}, nil
}

// source returns a source that reads from that server.
func (s *fixedBody) source(t testing.TB) client.Source {
	t.Helper()
	c, err := client.New(&rest.Config{Host: "http://said", Transport: s, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return client.NewSource(c)
}

func TestInvalidItemDoesNotStopList(t *testing.T) {
	t.Parallel()
	const kind, a = `"kind":"ConfigMapList","apiVersion":"v1"`, `{"metadata":{"name":"a","resourceVersion":"5"}}`
	for _, item := range []string{`5`, `null`, `""`, `[]`, `{}`, `{"metadata":{"labels":}}`} {
		for _, list := range []string{
			`{` + kind + `,"metadata":{"resourceVersion":"9"},"items":[` + item + `,` + a + `]}`,
			`{"items":[` + item + `,` + a + `],"metadata":{"resourceVersion":"9"},` + kind + `}`,
		} {
			got, err := (&fixedBody{[]byte(list)}).source(t).List(t.Context(), configmaps, client.Options{})
			if err != nil || len(got.Items) != 1 || len(got.Unreadable) != 1 {
				t.Errorf("%s: got %+v, %v", list, got, err)
			}
		}
	}
}

func TestListDecodesEscapedNames(t *testing.T) {
	t.Parallel()
	list := strings.Replace(twoMaps, `"items"`, `"it\u0065ms"`, 1)
	got, err := (&fixedBody{[]byte(list)}).source(t).List(t.Context(), configmaps, client.Options{})
	if err != nil || len(got.Items) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// announcing returns a list in protobuf with the length of a field but not its content.
func announcing(n protowire.Number, kind protowire.Type, size uint64) []byte {
	field := protowire.AppendVarint(protowire.AppendTag(nil, n, kind), size)
	list := protowire.AppendTag([]byte(object.ProtobufMagic), 2, protowire.BytesType)
	return append(protowire.AppendVarint(list, min(size, math.MaxInt64-20)+20), field...)
}

func TestListRejectsImpossibleLengths(t *testing.T) {
	t.Parallel()
	for _, n := range []protowire.Number{1, 2, 3} {
		for _, size := range []uint64{64<<20 + 1, 1 << 31, 1 << 50, 1<<63 + 5, math.MaxUint64} {
			body := announcing(n, protowire.BytesType, size)
			_, err := (&fixedBody{body}).source(t).List(t.Context(), configmaps, client.Options{Protobuf: true})
			if !errors.Is(err, client.ErrUnreadable) {
				t.Errorf("field %d of %d bytes: got %v", n, size, err)
			}
		}
	}
	for name, body := range map[string]string{
		"an item longer than the list": object.ProtobufMagic + "\x12\x04\x12\x05abcde",
		"a tag longer than the list":   object.ProtobufMagic + "\x12\x01\x92\x80\x00\x00",
		"a field without a number":     object.ProtobufMagic + "\x12\x02\x00\x00",
		"two lists in one":             object.ProtobufMagic + "\x12\x00\x12\x00",
	} {
		_, err := (&fixedBody{[]byte(body)}).source(t).List(t.Context(), configmaps, client.Options{Protobuf: true})
		if !errors.Is(err, client.ErrUnreadable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAnnouncedLengthIsNotAllocated(t *testing.T) {
	body := announcing(2, protowire.BytesType, 64<<20-30)
	source := (&fixedBody{body}).source(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := source.List(t.Context(), configmaps, client.Options{Protobuf: true})
	runtime.ReadMemStats(&after)
	if held := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, io.ErrUnexpectedEOF) || held > 8<<20 {
		t.Errorf("got %d bytes allocated for 64 MiB that do not arrive, and %v", held, err)
	}
}

// Kinds have the metadata in the same protobuf field, and other fields after it.
func TestObjectOfOtherKindIsRejected(t *testing.T) {
	t.Parallel()
	plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"password": "x"}}
	if _, err := kubernetes.NewForConfigOrDie(plane.RESTConfig()).CoreV1().ConfigMaps("default").Create(t.Context(), cm,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.NewSource(c).List(t.Context(), configmaps, client.Options{Namespace: "default", Protobuf: true})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("got list %v, %v", list, err)
	}
	const want = "/configmaps/default/a: the server sent a ConfigMap, which cannot be read into a *v1.Secret"
	if secret, err := wire.ReadObject[*corev1.Secret](list.Items[0]); err == nil || err.Error() != want {
		t.Errorf("got the Secret %+v, %v, want an error", secret, err)
	}
	if meta, err := wire.ReadObject[*metav1.PartialObjectMetadata](list.Items[0]); err != nil || meta.Name != "a" {
		t.Errorf("got metadata %+v, %v", meta, err)
	}
}
