package bowline

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// https is a TLS socket and who serves it. An http.Server alone serves HTTP/2 in the goroutine that shook hands, below its own
// frames, and that has 16 KiB of stack for as long as the connection lasts. Here it ends, and one follows that has 4; and
// handlers, which have no frames of an http.Server above them, wait with 4 instead of 8. HTTP/1.1 is the http.Server's.
type https struct {
	listener net.Listener // of TCP
	config   *tls.Config
	http1    *http.Server
	// serveHTTP2 returns at the end of the connection.
	serveHTTP2 func(*tls.Conn)
	// next is for http1, which has no other listener. Nothing comes once closed is.
	next   chan accepted
	closed chan struct{}
	// shaking are the connections that shake hands, and speaking those that speak HTTP/2.
	shaking, speaking connections
}

// accepted is what Accept of a net.Listener returns.
type accepted struct {
	conn net.Conn
	err  error
}

// newHTTPS takes the listener over: it is closed with the socket.
func newHTTPS(listener net.Listener, config *tls.Config, handler http.Handler, to *slog.Logger) *https {
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	h := &https{
		listener: listener, config: config, next: make(chan accepted), closed: make(chan struct{}),
		shaking: connections{log: to}, speaking: connections{log: to},
	}
	h.http1, h.serveHTTP2 = newHTTPServers(handler, to)
	return h
}

// serve answers until shutdown, then with http.ErrServerClosed, or until the socket fails.
func (h *https) serve() error {
	var accepting sync.WaitGroup
	defer accepting.Wait()
	accepting.Go(h.acceptAll)
	return h.http1.Serve((*handed)(h))
}

// acceptAll goes on after an error when http1 does, which knows how long to wait.
func (h *https) acceptAll() {
	for {
		conn, err := h.listener.Accept()
		if err == nil {
			h.shaking.begin(tls.Server(conn, h.config), h.shakeHands)
			continue
		}
		if !h.hand(accepted{err: err}) {
			return
		}
	}
}

// hand gives something to http1, unless that takes nothing any more.
func (h *https) hand(a accepted) bool {
	select {
	case h.next <- a:
		return true
	case <-h.closed:
		return false
	}
}

// shakeHands finds out what a connection speaks. One that fails is handed on too: http1 meets the same error, and has an
// answer for who does not speak TLS.
func (h *https) shakeHands(conn *tls.Conn) {
	conn.SetDeadline(time.Now().Add(h.http1.ReadHeaderTimeout))
	err := conn.Handshake()
	conn.SetDeadline(time.Time{})
	h.shaking.forget(conn)
	if err == nil && conn.ConnectionState().NegotiatedProtocol == "h2" {
		h.speaking.begin(conn, h.serveHTTP2)
		return
	}
	if !h.hand(accepted{conn: conn}) {
		conn.Close()
	}
}

// shutdown refuses connections from now on, and waits until the requests in flight have their answers, or for ctx. It is called
// once. Afterwards none of the socket's goroutines is left, unless it returns an error, but those of handlers.
func (h *https) shutdown(ctx context.Context) error {
	err := h.http1.Shutdown(ctx)                // and that of HTTP/2 begins
	err = errors.Join(err, h.shaking.wait(ctx)) // who would speak next
	return errors.Join(err, h.speaking.wait(ctx))
}

// cutOff ends what shutdown left.
func (h *https) cutOff() error {
	err := h.http1.Close()
	h.shaking.wait(context.Background())
	h.speaking.cutOff()
	h.speaking.wait(context.Background())
	return err
}

// handed is the listener of http1.
type handed https

func (h *handed) Accept() (net.Conn, error) {
	select {
	case a := <-h.next:
		return a.conn, a.err
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close is called once.
func (h *handed) Close() error {
	err := h.listener.Close()
	close(h.closed)
	h.shaking.cutOff()
	return err
}

func (h *handed) Addr() net.Addr { return h.listener.Addr() }
