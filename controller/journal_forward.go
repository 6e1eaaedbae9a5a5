package controller

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/why"
)

// Limits of forwarding. Runs are sent after the delay or when a batch is complete. If more than
// forwardQueue runs wait, the oldest that wrote nothing is dropped, or else the oldest.
const (
	forwardDelay    = 100 * time.Millisecond
	forwardBatch    = 16
	forwardQueue    = 256
	forwardTimeout  = 10 * time.Second
	forwardRetry    = time.Second // after a failure; doubles each time
	forwardMaxRetry = time.Minute
	forwardStop     = 2 * time.Second
)

// forwarder sends completed runs to a path of the server. It is best effort: it drops runs rather than block a
// controller.
type forwarder struct {
	client *client.Client
	path   string
	log    *slog.Logger

	accepted bool // the server has accepted runs
	warned   bool // a rejected run has been logged as a warning

	mu          sync.Mutex
	waiting     []why.Run
	signal      chan struct{} // signals that runs wait
	unsupported bool          // the server does not accept runs
}

// newForwarder returns nil if path is empty.
func newForwarder(c *client.Client, path string, journal *why.Journal, log *slog.Logger) *forwarder {
	if path == "" {
		return nil
	}
	f := &forwarder{client: c, path: path, log: log, signal: make(chan struct{}, 1)}
	journal.Forward(f.enqueue)
	return f
}

// enqueue queues a run, replacing an earlier state of it, and does not block.
func (f *forwarder) enqueue(r why.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unsupported {
		return
	}
	for k := len(f.waiting) - 1; k >= 0; k-- {
		if f.waiting[k].ID == r.ID {
			f.waiting[k] = r
			return
		}
	}
	if len(f.waiting) == forwardQueue {
		f.drop()
	}
	f.waiting = append(f.waiting, r)
	f.wake()
}

// wake signals that runs wait.
func (f *forwarder) wake() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// drop makes room for one run. The caller holds the lock.
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

// batch removes and returns the next runs to send.
func (f *forwarder) batch() []why.Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.waiting), forwardBatch)
	runs := slices.Clone(f.waiting[:n])
	if f.waiting = slices.Delete(f.waiting, 0, n); len(f.waiting) > 0 {
		f.wake()
	}
	return runs
}

// full reports whether a whole batch waits.
func (f *forwarder) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.waiting) >= forwardBatch
}

// run sends until ctx ends, and then sends the rest.
func (f *forwarder) run(ctx context.Context) {
	delay := forwardRetry
	for f.await(ctx) {
		left, err := f.deliver(ctx, f.batch())
		if err == nil {
			delay = forwardRetry
			continue
		}
		if ctx.Err() == nil && f.stopIfUnsupported(err) {
			return
		}
		f.requeue(left)
		if denied(err) {
			delay = forwardMaxRetry
		}
		f.log.Debug("forwarding runs failed, will retry", "path", f.path, "error", err, "after", delay)
		pause(ctx, delay)
		delay = min(2*delay, forwardMaxRetry)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), forwardStop)
	defer cancel()
	for runs := f.batch(); len(runs) > 0; runs = f.batch() {
		if left, err := f.deliver(last, runs); err != nil {
			f.log.Debug("the last runs are not forwarded", "runs", len(left), "error", err)
			return
		}
	}
}

// deliver sends runs and returns those not delivered if there is an error. If the server rejects a batch as
// malformed or too large, deliver sends its runs one by one and drops only those that are rejected again.
func (f *forwarder) deliver(ctx context.Context, runs []why.Run) (left []why.Run, err error) {
	err = f.send(ctx, runs)
	switch {
	case err == nil:
		f.accepted = true
		return nil, nil
	case !apierrors.IsBadRequest(err) && !apierrors.IsRequestEntityTooLargeError(err):
		return runs, err
	case len(runs) == 1:
		f.dropped(&runs[0], err)
		return nil, nil
	}
	for k := range runs {
		if _, err := f.deliver(ctx, runs[k:k+1]); err != nil {
			return runs[k:], err
		}
	}
	return nil, nil
}

// dropped logs that the server rejected a run, the first time as a warning.
func (f *forwarder) dropped(r *why.Run, err error) {
	level := slog.LevelWarn
	if f.warned {
		level = slog.LevelDebug
	}
	f.warned = true
	f.log.Log(context.Background(), level, "the server rejected a run, which bowline why will not show",
		"controller", r.Controller, "object", r.Object.String(), "error", err)
}

// await waits until runs wait and then until the batch is complete or forwardDelay has passed.
func (f *forwarder) await(ctx context.Context) bool {
	select {
	case <-f.signal:
	case <-ctx.Done():
		return false
	}
	timer := time.NewTimer(forwardDelay)
	defer timer.Stop()
	for !f.full() {
		select {
		case <-f.signal:
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
	return f.client.REST().Post().AbsPath(f.path).SetHeader("Content-Type",
		"application/json").Body(body).Do(ctx).Error()
}

// requeue returns runs that could not be sent to the front of the queue. If there is not enough room, it drops the
// oldest.
func (f *forwarder) requeue(runs []why.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if room := forwardQueue - len(f.waiting); len(runs) > room {
		runs = runs[len(runs)-room:]
	}
	f.waiting = append(runs, f.waiting...)
	f.wake()
}

// denied reports whether the server does not have the path or does not permit its use. That may change: another
// version of the server may run for a while, or credentials may be renewed.
func denied(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsForbidden(err) ||
		apierrors.IsUnauthorized(err)
}

// stopIfUnsupported stops forwarding, and returns true, if the server denied the request, has authenticated the client,
// and never accepted a run.
func (f *forwarder) stopIfUnsupported(err error) bool {
	if f.accepted || !denied(err) || apierrors.IsUnauthorized(err) {
		return false
	}
	f.log.Debug("the server does not accept runs: they stay in this process", "path", f.path, "error", err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsupported, f.waiting = true, nil
	return true
}
