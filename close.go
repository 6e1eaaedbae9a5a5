package bowline

import (
	"context"
	"errors"
	"sync"
	"time"
)

// patience is how long Close waits for requests in flight before it cuts them off.
const patience = 5 * time.Second

// Close stops the plane: new connections are refused, watches end, requests in flight are given some seconds, and
// every goroutine that the plane started has ended when it returns. It may be called again.
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
		err = p.drainSocket()
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

// drainTransport does for the calls in process what drainSocket does for those of the network: what ends in these
// moments, a watch for one, ends in order.
func (p *Plane) drainTransport() {
	ctx, cancel := context.WithTimeout(context.Background(), p.drain)
	defer cancel()
	p.transport.Shutdown(ctx)
	p.transport.Close()
}

// drainSocket closes the socket: at once for new requests, after a while for those in flight.
func (p *Plane) drainSocket() error {
	ctx, cancel := context.WithTimeout(context.Background(), p.drain)
	defer cancel()
	err := p.socket.shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		p.log.Warn("requests that were still in flight were cut off", "after", p.drain)
		err = p.socket.cutOff()
	}
	p.requests.close()
	return err
}
