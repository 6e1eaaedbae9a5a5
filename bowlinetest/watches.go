package bowlinetest

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// watches holds the open watches of a plane's clients.
type watches struct {
	mu   sync.Mutex
	last int
	open map[int]*openWatch
}

// openWatch is one open watch.
type openWatch struct {
	name  string
	order int
	ended chan struct{}
}

// newWatches returns watches that are checked for leaks when the test ends, before the plane is closed.
func newWatches(t testing.TB, p *Plane) *watches {
	w := &watches{open: map[int]*openWatch{}}
	t.Cleanup(func() {
		t.Helper()
		for _, leak := range w.leaked(p.settings.timeout) {
			p.leaked(t, "a watch is still open: %s", leak.name)
		}
	})
	return w
}

// leaked returns the watches that are still open after timeout, in the order in which they were opened.
func (w *watches) leaked(timeout time.Duration) (leaked []*openWatch) {
	w.mu.Lock()
	for _, o := range w.open {
		leaked = append(leaked, o)
	}
	w.mu.Unlock()
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	timedOut := false
	leaked = slices.DeleteFunc(leaked, func(o *openWatch) bool {
		if !timedOut {
			select {
			case <-o.ended:
			case <-limit.C:
				timedOut = true
			}
		}
		return o.hasEnded()
	})
	slices.SortFunc(leaked, func(a, b *openWatch) int { return cmp.Compare(a.order, b.order) })
	return leaked
}

func (o *openWatch) hasEnded() bool {
	select {
	case <-o.ended:
		return true
	default:
		return false
	}
}

// wrap returns a transport that tracks the watches opened through it.
func (w *watches) wrap(next http.RoundTripper) http.RoundTripper { return &watched{next, w} }

type watched struct {
	next    http.RoundTripper
	watches *watches
}

// RoundTrip implements http.RoundTripper.
func (t *watched) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(q)
	if err == nil && answer.StatusCode == http.StatusOK && isWatch(q) {
		answer.Body = t.watches.begin(q, answer.Body)
	}
	return answer, err
}

// WrappedRoundTripper returns the wrapped transport, for client-go's helpers.
func (t *watched) WrappedRoundTripper() http.RoundTripper { return t.next }

func isWatch(q *http.Request) bool {
	value := q.URL.Query().Get("watch")
	return value == "true" || value == "1"
}

func (w *watches) begin(q *http.Request, body io.ReadCloser) io.ReadCloser {
	o := &openWatch{name: fmt.Sprintf("%s by %s%s", q.URL.Path, cmp.Or(q.UserAgent(), "an unknown client"), caller()),
		ended: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	o.order = w.last
	w.open[o.order] = o
	return &watchBody{body, sync.OnceFunc(func() { w.end(o) })}
}

func (w *watches) end(o *openWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, o.order)
	close(o.ended)
}

// watchBody is the body of a watch's response. The watch ends when the body is closed or a read fails, which
// includes io.EOF.
type watchBody struct {
	io.ReadCloser
	end func()
}

func (b *watchBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *watchBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

// caller describes the innermost caller outside libraries, if there is one. An informer's watch starts in a
// goroutine of a library and has none.
func caller() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if !ofLibrary(frame) {
			return fmt.Sprintf(", started in %s (%s:%d)", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return ""
		}
	}
}

func ofLibrary(f runtime.Frame) bool {
	if strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	libraries := []string{"k8s.io/", "sigs.k8s.io/", "github.com/bowline-dev/bowline/", "net/http.", "runtime.",
		"testing.", "sync."}
	for _, library := range libraries {
		if strings.HasPrefix(f.Function, library) {
			return true
		}
	}
	return false
}
