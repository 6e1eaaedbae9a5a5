package bowline

import (
	"context"
	"crypto/tls"
	"log/slog"
	"runtime/debug"
	"sync"
)

// connections have a goroutine each.
type connections struct {
	log *slog.Logger

	mu     sync.Mutex
	ended  bool
	open   map[*tls.Conn]struct{}
	active sync.WaitGroup
}

// begin works on a connection in a goroutine of its own, or closes it after cutOff.
func (c *connections) begin(conn *tls.Conn, work func(*tls.Conn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		conn.NetConn().Close()
		return
	}
	if c.open == nil {
		c.open = map[*tls.Conn]struct{}{}
	}
	c.open[conn] = struct{}{}
	c.active.Go(func() {
		defer c.end(conn)
		work(conn)
	})
}

// end is that of the work on a connection. A panic is that connection's end alone.
func (c *connections) end(conn *tls.Conn) {
	if p := recover(); p != nil {
		c.log.Error("serving a connection panicked", "from", conn.RemoteAddr(), "panic", p, "stack", string(debug.Stack()))
		conn.NetConn().Close()
	}
	c.forget(conn)
}

// forget leaves a connection open at cutOff: it is somebody else's.
func (c *connections) forget(conn *tls.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

// cutOff closes all connections, without TLS's goodbye, which may take its time.
func (c *connections) cutOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for conn := range c.open {
		conn.NetConn().Close()
	}
}

// wait returns when no connection is left, or ctx.Err.
func (c *connections) wait(ctx context.Context) error {
	left := make(chan struct{})
	go func() {
		defer close(left)
		c.active.Wait()
	}()
	select {
	case <-left:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
