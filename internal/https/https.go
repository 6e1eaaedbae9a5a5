// Package https serves a TLS socket: HTTP/1.1 and HTTP/2 with little memory per connection, a limit of open
// connections, and a shutdown that drains requests in flight. Package bowline uses it for the socket of a plane. It
// knows no API and authenticates nobody.
package https

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/inflight"
)

// Server serves a TLS socket with little memory per connection. http.Server serves HTTP/2 in the goroutine of
// the TLS handshake, whose stack keeps 16 KiB for the life of the connection. Here that goroutine ends and
// one with a stack of 4 KiB takes over; handlers, which have no frames of http.Server below them, wait with 4
// KiB instead of 8. HTTP/1.1 connections are passed to an http.Server.
type Server struct {
	listener net.Listener // TCP
	config   *tls.Config
	http1    *http.Server
	// serveHTTP2 returns when the connection ends.
	serveHTTP2 func(*tls.Conn)
	// next passes connections to http1, which has no other listener. Nothing is sent after closed is closed.
	next   chan accepted
	closed chan struct{}
	// shaking tracks the connections in their TLS handshake, speaking those that use HTTP/2.
	shaking, speaking connections
	requests          inflight.Requests
	log               *slog.Logger
}

// accepted is the result of net.Listener.Accept.
type accepted struct {
	conn net.Conn
	err  error
}

// New takes ownership of listener, which is closed with the socket.
func New(listener net.Listener, config *tls.Config, handler http.Handler, to *slog.Logger) *Server {
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	h := &Server{
		listener: listener, config: config, next: make(chan accepted), closed: make(chan struct{}),
		shaking: connections{log: to}, speaking: connections{log: to}, log: to,
	}
	h.http1, h.serveHTTP2 = newHTTPServers(&counted{&h.requests, handler}, to)
	return h
}

// Serve serves until Drain and returns http.ErrServerClosed, or until the listener fails.
func (h *Server) Serve() error {
	var accepting sync.WaitGroup
	defer accepting.Wait()
	accepting.Go(h.acceptAll)
	return h.http1.Serve((*handed)(h))
}

// acceptAll accepts connections. After an error it continues when http1 accepts again, because http1 knows
// how long to back off.
func (h *Server) acceptAll() {
	for {
		conn, err := h.listener.Accept()
		if err == nil {
			h.shaking.begin(tls.Server(conn, h.config), h.shakeHands)
			continue
		}
		if !h.deliver(accepted{err: err}) {
			return
		}
	}
}

// deliver passes a connection or an error to http1. It returns false after shutdown.
func (h *Server) deliver(a accepted) bool {
	select {
	case h.next <- a:
		return true
	case <-h.closed:
		return false
	}
}

// shakeHands performs the TLS handshake and dispatches on the protocol. A failed connection is passed to
// http1 too, which meets the same error and answers clients that do not use TLS.
func (h *Server) shakeHands(conn *tls.Conn) {
	conn.SetDeadline(time.Now().Add(h.http1.ReadHeaderTimeout))
	err := conn.Handshake()
	conn.SetDeadline(time.Time{})
	h.shaking.forget(conn)
	if err == nil && conn.ConnectionState().NegotiatedProtocol == "h2" {
		h.speaking.begin(conn, h.serveHTTP2)
		return
	}
	if !h.deliver(accepted{conn: conn}) {
		conn.Close()
	}
}

// Drain stops accepting connections and waits for the requests in flight. When drain ends, it cuts off the rest, and
// waits for their handlers until stop ends, which is later than drain. If the error is nil, no goroutine of the server
// is left and all handlers have returned. Otherwise the error names the requests whose handlers have not. Drain must be
// called once.
func (h *Server) Drain(drain, stop context.Context) error {
	err := h.shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		h.log.Warn("requests that were still in flight were cut off")
		err = h.cutOff(stop)
	}
	h.requests.Close()
	return errors.Join(err, h.requests.Wait(stop))
}

// shutdown stops accepting connections and waits until requests in flight are answered, or for ctx. It may be
// called once. If it returns nil, no goroutines of the socket are left except those of handlers.
func (h *Server) shutdown(ctx context.Context) error {
	err := h.http1.Shutdown(ctx)                // also begins the shutdown of HTTP/2
	err = errors.Join(err, h.shaking.wait(ctx)) // handshakes may still add to speaking
	return errors.Join(err, h.speaking.wait(ctx))
}

// cutOff closes the connections that shutdown left, and waits for their goroutines until ctx ends.
func (h *Server) cutOff(ctx context.Context) error {
	err := h.http1.Close()
	shaking := h.shaking.wait(ctx)
	h.speaking.cutOff()
	if ctxErr := errors.Join(shaking, h.speaking.wait(ctx)); ctxErr != nil {
		err = errors.Join(err, fmt.Errorf("connections that were cut off do not end: %w", ctxErr))
	}
	return err
}

// handed is the listener of http1.
type handed Server

func (h *handed) Accept() (net.Conn, error) {
	select {
	case a := <-h.next:
		return a.conn, a.err
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close must be called once.
func (h *handed) Close() error {
	err := h.listener.Close()
	close(h.closed)
	h.shaking.cutOff()
	return err
}

func (h *handed) Addr() net.Addr { return h.listener.Addr() }
