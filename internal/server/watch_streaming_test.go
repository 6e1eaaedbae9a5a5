package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// event is one line of a JSON watch.
type event struct {
	Type   string
	Object map[string]any
}

func (e event) String() string {
	name, _ := valueAt(e.Object, "metadata", "name").(string)
	return strings.TrimSpace(e.Type + " " + name)
}

// streaming is a raw watch.
type streaming struct {
	header http.Header
	lines  *bufio.Scanner
}

// open starts a raw watch, which ends with the test.
func (w *testPlane) open(t testing.TB, path string, headers ...string) *streaming {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req := must(http.NewRequestWithContext(ctx, http.MethodGet, w.host+path, nil))(t)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp := must(w.wire.Do(req))(t)
	t.Cleanup(func() { cancel(); resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the watch was answered %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 8<<20)
	return &streaming{resp.Header, lines}
}

// next returns the next event; ok is false at the end of the watch.
func (s *streaming) next(t testing.TB) (e event, ok bool) {
	t.Helper()
	if !s.lines.Scan() {
		return e, false
	}
	if err := json.Unmarshal(s.lines.Bytes(), &e); err != nil {
		t.Fatalf("%v: %s", err, s.lines.Bytes())
	}
	return e, true
}

// want receives events, and compares their types and names.
func (s *streaming) want(t testing.TB, want ...string) (last event) {
	t.Helper()
	for i, text := range want {
		e, ok := s.next(t)
		if !ok {
			t.Fatalf("the watch ended before event %d, %s", i, text)
		}
		if e.String() != text {
			t.Errorf("event %d: %s %v, want %s", i, e, e.Object, text)
		}
		last = e
	}
	return last
}
