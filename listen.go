package bowline

//lint:file-ignore SA1019 net/http serves HTTP/2 only below its own frames, and has no choice of scheduler: its own costs a sixth of the server's time at 500 streams

import (
	"crypto/tls"
	"io"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// newHTTPServers are the HTTP/1.1 server of a socket, and what serves a connection that speaks HTTP/2 until its end. Watches are
// long, so only headers have a deadline of their own here; the pipeline bounds the rest.
func newHTTPServers(handler http.Handler, to *slog.Logger) (http1 *http.Server, serveHTTP2 func(*tls.Conn)) {
	http1 = &http.Server{
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
	// Built with Go 1.27 or later, this library hands each connection to an http.Server of its own, and neither tells it to go nor
	// takes the scheduler: look at this before go.mod says so.
	//
	// Of a thousand streams on a connection most are watches that wait. The library's own way to choose what is written next
	// looks at each of them for every frame; this one knows those that have something.
	own := &http2.Server{NewWriteScheduler: http2.NewRandomWriteScheduler}
	if err := http2.ConfigureServer(http1, own); err != nil {
		panic(err) // it refuses ciphers and versions of TLS that HTTP/2 forbids, and none are set here
	}
	return http1, func(conn *tls.Conn) { own.ServeConn(conn, &http2.ServeConnOpts{BaseConfig: http1}) }
}

// requests counts those of a socket, so that Close can wait for their handlers: an http.Server does not.
type requests struct {
	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
}

// counted passes requests on until close, and refuses them from then on.
type counted struct {
	*requests
	next http.Handler
}

// ServeHTTP implements http.Handler.
func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !c.begin() {
		http.Error(w, "the server has stopped", http.StatusServiceUnavailable)
		return
	}
	defer c.active.Done()
	c.next.ServeHTTP(w, r)
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

// connectionErrors turns the lines of net/http into log records. Broken handshakes are somebody else's fault; that no connection
// can be taken is not.
type connectionErrors struct{ log *slog.Logger }

var _ io.Writer = connectionErrors{}

func (c connectionErrors) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.HasPrefix(text, "http: Accept error") {
		c.log.Warn("no connection can be taken", "error", text)
	} else {
		c.log.Debug("a connection failed", "error", text)
	}
	return len(line), nil
}
