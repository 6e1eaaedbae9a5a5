package bowline

import (
	"io"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// newHTTPServer is the HTTP/1.1 and HTTP/2 server of a socket. Watches are long, so only headers have a deadline of
// their own here; the pipeline bounds the rest.
func newHTTPServer(handler http.Handler, to *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       3 * time.Minute,
		ErrorLog:          log.New(connectionErrors{to}, "", 0),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 1000,
			// A request body and many small answers share a connection: larger windows save round trips.
			MaxReceiveBufferPerStream:     1 << 20,
			MaxReceiveBufferPerConnection: 4 << 20,
			// A client that stops reading its connection stops all of its streams, and is cut off.
			WriteByteTimeout: 30 * time.Second,
		},
	}
	// Of a thousand streams on a connection most are watches that wait. The library's own way to choose what is written next
	// looks at each of them for every frame; this one knows those that have something.
	//lint:ignore SA1019 net/http has no choice of scheduler, and its own costs a sixth of the server's time at 500 streams
	if err := http2.ConfigureServer(s, &http2.Server{NewWriteScheduler: http2.NewRandomWriteScheduler}); err != nil {
		panic(err) // it refuses ciphers and versions of TLS that HTTP/2 forbids, and none are set here
	}
	return s
}

// requests counts those of a socket, so that Close can wait for their handlers: an http.Server does not.
type requests struct {
	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
}

// counted passes requests on until close, and refuses them from then on.
func (q *requests) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !q.begin() {
			http.Error(w, "the server has stopped", http.StatusServiceUnavailable)
			return
		}
		defer q.active.Done()
		next.ServeHTTP(w, r)
	})
}

func (q *requests) begin() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.active.Add(1)
	}
	return !q.closed
}

// close returns when the last handler has.
func (q *requests) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.active.Wait()
}

// connectionErrors turns the lines of net/http into log records. Broken handshakes are somebody else's fault.
type connectionErrors struct{ log *slog.Logger }

var _ io.Writer = connectionErrors{}

func (c connectionErrors) Write(line []byte) (int, error) {
	c.log.Debug("a connection failed", "error", strings.TrimSpace(string(line)))
	return len(line), nil
}
