package render

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// answers returns answers of all forms of bodies.
func answers(t *testing.T) map[string]Answer {
	t.Helper()
	out := map[string]Answer{"empty": {Code: 204}}
	for _, mediaType := range []string{request.JSON, request.YAML, "text/plain"} {
		a, err := Body(200, mediaType, []byte(`{"a":"b"}`))
		if err != nil {
			t.Fatal(err)
		}
		out[mediaType] = a
	}
	var items []*object.Encoding
	for i := range 100 {
		data := fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%s"},"data":"%s"}`, object.RevisionPlaceholder,
			strings.Repeat("x", i*i))
		e, err := object.NewEncoding(object.Form{}, data)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, &e)
	}
	list := Answer{head: []byte("["), items: items, commas: true, tail: []byte("]"), Length: 1 + len(items)}
	for _, e := range items {
		list.Length += e.ItemSize()
	}
	out["list"] = list
	return out
}

func TestWriteToWritesLengthBytes(t *testing.T) {
	t.Parallel()
	for name, a := range answers(t) {
		var buf bytes.Buffer
		n, err := a.WriteTo(&buf)
		if err != nil || n != int64(a.Length) || buf.Len() != a.Length {
			t.Errorf("%s: wrote %d bytes, returned %d and %v; the length is %d", name, buf.Len(), n, err, a.Length)
		}
	}
}

// limited fails once it has accepted a number of bytes.
type limited struct{ left int }

var errFull = errors.New("full")

func (w *limited) Write(data []byte) (int, error) {
	n := min(len(data), w.left)
	if w.left -= n; n < len(data) {
		return n, errFull
	}
	return n, nil
}

func TestWriteToCountsBytesBeforeError(t *testing.T) {
	t.Parallel()
	for name, a := range answers(t) {
		for _, left := range []int{0, 1, 7, 1000, 100_000} {
			if left >= a.Length {
				continue
			}
			if n, err := a.WriteTo(&limited{left}); n != int64(left) || err != errFull {
				t.Errorf("%s: returned %d and %v of %d bytes", name, n, err, left)
			}
		}
	}
}
