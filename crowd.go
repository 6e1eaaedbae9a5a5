package bowline

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// crowdedEvery is how often the log says that there is no place, at most.
const crowdedEvery = time.Minute

// crowd is a listener that has so many connections open at once. Who comes then waits in the system's queue until one is
// closed: a client that opens connections without end is in the way of who comes after it, and of nobody else.
type crowd struct {
	net.Listener
	places chan struct{} // holds one for each open connection
	closed chan struct{}
	close  func() error
	log    *slog.Logger
	said   time.Time // when it last was full; only Accept's
}

// newCrowd takes a listener over.
func newCrowd(l net.Listener, places int, to *slog.Logger) *crowd {
	c := &crowd{Listener: l, places: make(chan struct{}, places), closed: make(chan struct{}), log: to}
	c.close = sync.OnceValue(func() error {
		close(c.closed)
		return l.Close()
	})
	return c
}

// Accept implements net.Listener. It is called by one goroutine at a time.
func (c *crowd) Accept() (net.Conn, error) {
	select {
	case c.places <- struct{}{}:
	default:
		if time.Since(c.said) > crowdedEvery {
			c.said = time.Now()
			c.log.Warn("so many connections are open that no more are taken until some are closed: raise the limit of open files "+
				"(ulimit -Hn), or find out who opens them", "address", c.Addr(), "connections", cap(c.places))
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
	return &placed{Conn: conn, crowd: c}, nil
}

// Close implements net.Listener. Connections stay open.
func (c *crowd) Close() error { return c.close() }

// placed is a connection that has a place until it is closed.
type placed struct {
	net.Conn
	crowd *crowd
	left  sync.Once
}

// Close implements net.Conn.
func (p *placed) Close() error {
	err := p.Conn.Close()
	p.left.Do(func() { <-p.crowd.places })
	return err
}
