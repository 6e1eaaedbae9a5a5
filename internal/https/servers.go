package https

//lint:file-ignore SA1019 net/http serves HTTP/2 only below its own frames, and has no choice of scheduler: its own costs a sixth of the server's time at 500 streams

import (
	"crypto/tls"
	"io"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"github.com/bowline-dev/bowline/internal/inflight"
)

// newHTTPServers returns the HTTP/1.1 server of a socket, and a function that serves one HTTP/2 connection
// until it ends. Watches are long-lived, so only reading headers has a deadline here; package server bounds
// the rest.
func newHTTPServers(handler http.Handler, to *slog.Logger) (http1 *http.Server, serveHTTP2 func(*tls.Conn)) {
	http1 = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       3 * time.Minute,
		ErrorLog:          log.New(connectionErrors{to}, "", 0),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 1000,
			// Request bodies share a connection: larger windows save round trips. What the bodies of requests that
			// wait for their turn take of the connection's window delays those of requests that run, so it has room
			// for many.
			MaxReceiveBufferPerStream:     256 << 10,
			MaxReceiveBufferPerConnection: 16 << 20,
			// A client that stops reading a connection blocks all of its streams, so the connection is
			// closed.
			WriteByteTimeout: 30 * time.Second,
		},
	}
	// Built with Go 1.27 or later, x/net/http2 passes each connection to an http.Server of its own, and
	// ignores the shutdown and the scheduler: revisit this before go.mod requires it.
	//
	// Most of a thousand streams on a connection are idle watches. The default write scheduler examines all
	// of them for each frame; this one tracks the streams that have something to write.
	own := &http2.Server{NewWriteScheduler: http2.NewRandomWriteScheduler}
	if err := http2.ConfigureServer(http1, own); err != nil {
		panic(err) // only for TLS ciphers and versions that HTTP/2 forbids; none are set here
	}
	return http1, func(conn *tls.Conn) { own.ServeConn(conn, &http2.ServeConnOpts{BaseConfig: http1}) }
}

// counted tracks the requests to next, and refuses them once requests is closed.
// http.Server does not wait for handlers.
type counted struct {
	requests *inflight.Requests
	next     http.Handler
}

// ServeHTTP implements http.Handler.
func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, ok := c.requests.Begin(r)
	if !ok {
		http.Error(w, "the server has stopped", http.StatusServiceUnavailable)
		return
	}
	defer q.End()
	c.next.ServeHTTP(w, r)
}

// connectionErrors converts the error log of net/http to log records. Failed handshakes are the client's
// fault; failing to accept connections is not.
type connectionErrors struct{ log *slog.Logger }

var _ io.Writer = connectionErrors{}

func (c connectionErrors) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.HasPrefix(text, "http: Accept error") {
		c.log.Warn("accepting a connection failed", "error", text)
	} else {
		c.log.Debug("a connection failed", "error", text)
	}
	return len(line), nil
}
