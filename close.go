package bowline

import (
	"context"
	"errors"
	"sync"
	"time"
)

// drainTimeout is how long Close waits for requests in flight before it cancels them.
const drainTimeout = 5 * time.Second

// Close stops the plane: it stops the controllers, refuses new connections, ends watches, waits up to 5 seconds for
// requests in flight and then cancels them, and closes the storage. When it returns, all goroutines of the plane have
// ended. The error is that of closing the socket or the storage. Further calls return the same error.
func (p *Plane) Close() error { return p.close() }

func (p *Plane) shutdown() error {
	p.cancel()
	p.loops.Wait()
	var watches sync.WaitGroup
	if p.server != nil {
		watches.Go(p.server.Close)
	}
	var err error
	switch {
	case p.socket != nil:
		err = p.socket.Drain(p.drain)
	case p.listener != nil:
		err = p.listener.Close()
	}
	watches.Wait()
	if p.transport != nil {
		p.drainTransport()
	}
	p.sockets.Wait()
	if p.store != nil {
		err = errors.Join(err, p.store.Close())
	}
	return err
}

// drainTransport waits up to p.drain for in-process calls to end and then cancels them, as draining the socket does
// for network requests.
func (p *Plane) drainTransport() {
	ctx, cancel := context.WithTimeout(context.Background(), p.drain)
	defer cancel()
	p.transport.Shutdown(ctx)
	p.transport.Close()
}
