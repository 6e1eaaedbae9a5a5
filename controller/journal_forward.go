package controller

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller/why"
)

// How runs are forwarded: what waits longer than the delay, or is more than a batch, is sent; of more than may wait, the oldest
// are dropped, and first those that wrote nothing.
const (
	forwardDelay   = 100 * time.Millisecond
	forwardBatch   = 16
	forwardWaiting = 256
	forwardTimeout = 10 * time.Second
	forwardAgain   = time.Second // after a failure, twice as long each time
	forwardRarest  = time.Minute
	forwardLast    = 2 * time.Second
)

// forwarder sends runs that have ended to a path of the server. It is best effort: nobody waits for it.
type forwarder struct {
	client *client.Client
	path   string
	log    *slog.Logger

	mu      sync.Mutex
	waiting []why.Run
	enough  chan struct{} // something waits
	off     bool          // the server does not want them
}

// newForwarder is nil without a path.
func newForwarder(c *client.Client, path string, journal *why.Journal, log *slog.Logger) *forwarder {
	if path == "" {
		return nil
	}
	f := &forwarder{client: c, path: path, log: log, enough: make(chan struct{}, 1)}
	journal.Forward(f.take)
	return f
}

// take keeps a run until it is sent, and does not wait.
func (f *forwarder) take(r why.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.off {
		return
	}
	for k := len(f.waiting) - 1; k >= 0; k-- {
		if f.waiting[k].ID == r.ID {
			f.waiting[k] = r
			return
		}
	}
	if len(f.waiting) == forwardWaiting {
		f.drop()
	}
	f.waiting = append(f.waiting, r)
	select {
	case f.enough <- struct{}{}:
	default:
	}
}

// drop makes room for one. The lock is held.
func (f *forwarder) drop() {
	oldest := 0
	for k := range f.waiting {
		if len(f.waiting[k].Writes) == 0 {
			oldest = k
			break
		}
	}
	f.waiting = append(f.waiting[:oldest], f.waiting[oldest+1:]...)
}

// batch takes what is to be sent.
func (f *forwarder) batch() []why.Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	runs := f.waiting
	f.waiting = nil
	return runs
}

// full says that there is no reason to wait for more.
func (f *forwarder) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.waiting) >= forwardBatch
}

// run sends until ctx ends, and then once more.
func (f *forwarder) run(ctx context.Context) {
	again := forwardAgain
	for f.await(ctx) {
		runs := f.batch()
		switch err := f.send(ctx, runs); {
		case err == nil:
			again = forwardAgain
		case ctx.Err() != nil:
			f.giveBack(runs)
		case f.unwanted(err):
			return
		case apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err):
			f.log.Debug("the server does not understand some runs, which are dropped", "runs", len(runs), "error", err)
		default:
			f.log.Debug("runs are not forwarded yet: trying again", "path", f.path, "error", err, "after", again)
			f.giveBack(runs)
			pause(ctx, again)
			again = min(2*again, forwardRarest)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), forwardLast)
	defer cancel()
	if runs := f.batch(); len(runs) > 0 {
		if err := f.send(last, runs); err != nil {
			f.log.Debug("the last runs are not forwarded", "runs", len(runs), "error", err)
		}
	}
}

// await waits until something is to be sent, and for a moment for more.
func (f *forwarder) await(ctx context.Context) bool {
	select {
	case <-f.enough:
	case <-ctx.Done():
		return false
	}
	timer := time.NewTimer(forwardDelay)
	defer timer.Stop()
	for !f.full() {
		select {
		case <-f.enough:
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (f *forwarder) send(ctx context.Context, runs []why.Run) error {
	if len(runs) == 0 {
		return nil
	}
	body, err := json.Marshal(why.Delivery{Runs: runs})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, forwardTimeout)
	defer cancel()
	return f.client.REST().Post().AbsPath(f.path).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
}

// giveBack keeps what could not be sent, as far as there is room, before what came meanwhile.
func (f *forwarder) giveBack(runs []why.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if room := forwardWaiting - len(f.waiting); len(runs) > room {
		runs = runs[len(runs)-room:]
	}
	f.waiting = append(runs, f.waiting...)
	select {
	case f.enough <- struct{}{}:
	default:
	}
}

// unwanted ends the forwarding when the server has no such path, or lets others use it only.
func (f *forwarder) unwanted(err error) bool {
	known := !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err)
	if known && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return false
	}
	f.log.Debug("the server does not take runs in: they stay in this process", "path", f.path, "error", err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.off, f.waiting = true, nil
	return true
}
