package bowline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The limits of Close, about half a minute in total.
const (
	// drainTimeout is how long Close waits for requests in flight before it cancels them.
	drainTimeout = 5 * time.Second
	// cancelTimeout is how long Close waits for canceled requests to return. A connection over HTTP/1.1 that is cut off
	// waits up to 5 seconds for its client.
	cancelTimeout = 10 * time.Second
	// reconcileTimeout is how long Close waits for running reconciliations, and controllersTimeout for all of the
	// controllers: their recorders then send events for up to 2 seconds, and their informers wait 5 for handlers.
	reconcileTimeout   = 5 * time.Second
	controllersTimeout = 13 * time.Second
)

// Close stops the plane: it stops the controllers, refuses new connections, ends watches, waits up to 5 seconds for
// requests in flight and then cancels them, and closes the storage. If the error is nil, all goroutines of the plane
// have ended. Otherwise it reports that the socket or the storage failed to close, or names the requests and the
// controllers that do not return although they were canceled. Close waits for these for up to 28 seconds in total and
// then closes the storage; when they return, they get errors from it. Further calls return the same error.
func (p *Plane) Close() error { return p.close() }

func (p *Plane) shutdown() error {
	p.cancel()
	err := p.awaitControllers()
	drain, cancelDrain := context.WithTimeout(context.Background(), p.drain)
	defer cancelDrain()
	stop, cancelStop := context.WithTimeout(context.Background(), p.drain+p.cancelWait)
	defer cancelStop()
	var watches sync.WaitGroup
	var watchErr error
	if p.server != nil {
		watches.Go(func() { watchErr = p.server.Shutdown(stop) })
	}
	if p.transport != nil {
		defer context.AfterFunc(drain, p.transport.Cancel)()
	}
	switch {
	case p.socket != nil:
		err = errors.Join(err, p.socket.Drain(drain, stop))
		p.sockets.Wait()
	case p.listener != nil:
		err = errors.Join(err, p.listener.Close())
	}
	if p.transport != nil { // after the socket, because requests over it may cause requests in process
		err = errors.Join(err, p.transport.Shutdown(stop))
	}
	watches.Wait()
	err = errors.Join(err, watchErr)
	if p.store != nil {
		err = errors.Join(err, p.store.Close())
	}
	if err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	return nil
}

// awaitControllers waits for the controllers, whose context is canceled. After reconcileTimeout it cancels conversions,
// for which an informer may wait.
func (p *Plane) awaitControllers() error {
	if p.controllersEnded == nil {
		return nil
	}
	if p.server != nil {
		defer time.AfterFunc(reconcileTimeout, p.server.CancelConversions).Stop()
	}
	timer := time.NewTimer(controllersTimeout)
	defer timer.Stop()
	select {
	case err := <-p.controllersEnded:
		return err
	case <-timer.C:
		return fmt.Errorf("%v after they were stopped, the informers or event recorders of the controllers still run",
			controllersTimeout)
	}
}
