package https

import (
	"context"
	"crypto/tls"
	"log/slog"
	"runtime/debug"
	"sync"
)

// connections tracks connections that are served by one goroutine each.
type connections struct {
	log *slog.Logger

	mu     sync.Mutex
	ended  bool
	open   map[*tls.Conn]struct{}
	active sync.WaitGroup
}

// begin runs work for a connection in a new goroutine. After cutOff it closes the connection instead.
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

// end ends the work on a connection. A panic closes only that connection.
func (c *connections) end(conn *tls.Conn) {
	if p := recover(); p != nil {
		c.log.Error("serving a connection panicked", "from", conn.RemoteAddr(), "panic", p, "stack",
			string(debug.Stack()))
		conn.NetConn().Close()
	}
	c.forget(conn)
}

// forget stops tracking a connection, which then has another owner; cutOff does not close it.
func (c *connections) forget(conn *tls.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

// cutOff closes all connections without sending TLS close_notify, which may block.
func (c *connections) cutOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for conn := range c.open {
		conn.NetConn().Close()
	}
}

// wait returns when no connection is left, or ctx.Err() when ctx ends first.
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
