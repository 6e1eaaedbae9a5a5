package https

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// limitLogInterval is the minimum time between log records about the limit.
const limitLogInterval = time.Minute

// limitListener accepts at most cap(places) open connections; others wait in the kernel's backlog until one is
// closed. A client that opens too many connections delays new ones, but does not affect those already open.
type limitListener struct {
	net.Listener
	places chan struct{} // has one element for each open connection
	closed chan struct{}
	close  func() error
	log    *slog.Logger
	logged time.Time // the time of the last log record; used only by Accept
}

// Limit returns a listener on l that accepts at most max open connections. It takes ownership of l.
func Limit(l net.Listener, max int, to *slog.Logger) net.Listener {
	c := &limitListener{Listener: l, places: make(chan struct{}, max), closed: make(chan struct{}), log: to}
	c.close = sync.OnceValue(func() error {
		close(c.closed)
		return l.Close()
	})
	return c
}

// Accept implements net.Listener. It must not be called concurrently.
func (c *limitListener) Accept() (net.Conn, error) {
	select {
	case c.places <- struct{}{}:
	default:
		if time.Since(c.logged) > limitLogInterval {
			c.logged = time.Now()
			c.log.Warn("too many open connections: no more are accepted until some are closed: find the clients "+
				"that open them, or allow the process more open files (ulimit -Hn) or more memory", "address", c.Addr(), "connections", cap(c.places))
		}
		select {
		case c.places <- struct{}{}:
		case <-c.closed:
			return nil, net.ErrClosed
		}
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		<-c.places
		return nil, err
	}
	return &limitConn{Conn: conn, limit: c}, nil
}

// Close implements net.Listener. Open connections stay open.
func (c *limitListener) Close() error { return c.close() }

// limitConn is a connection that counts towards the limit until it is closed.
type limitConn struct {
	net.Conn
	limit *limitListener
	left  sync.Once
}

// Close implements net.Conn.
func (p *limitConn) Close() error {
	err := p.Conn.Close()
	p.left.Do(func() { <-p.limit.places })
	return err
}
