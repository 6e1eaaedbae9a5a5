package bowline

import (
	"context"
	"errors"
	"sync"
	"time"
)

// patience is how long Close waits for requests in flight before it cuts them off.
const patience = 5 * time.Second

// Close stops the plane: it refuses new connections, ends watches, and gives requests in flight a few
// seconds. When it returns, all goroutines of the plane have ended. It may be called more than once.
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

// drainTransport does for in-process calls what the drain of the socket does for network requests: calls that end
// within the grace period, such as watches, end in order.
func (p *Plane) drainTransport() {
	ctx, cancel := context.WithTimeout(context.Background(), p.drain)
	defer cancel()
	p.transport.Shutdown(ctx)
	p.transport.Close()
}
