package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Run waits until the caches of all sources are synced, then reconciles until ctx ends, and returns when all workers
// have ended. It must be called at most once. If reconciliations do not return within Options.StopTimeout after ctx
// ended, Run returns an error that names them and leaves their goroutines running. Otherwise it returns nil.
func (c *Controller) Run(ctx context.Context) error {
	defer c.in.close()
	defer c.queue.ShutDown()
	for _, s := range c.options.Sources {
		if !await(ctx, s.filled()) {
			return nil
		}
	}
	// Accept requests only now: while no worker runs, they would accumulate.
	var synced []<-chan struct{}
	for _, s := range c.options.Sources {
		done, remove := s.feed(c.in)
		defer remove()
		synced = append(synced, done)
	}
	for _, done := range synced {
		if !await(ctx, done) {
			return nil
		}
	}
	for range max(c.options.Workers, 1) {
		c.pool.start(ctx)
	}
	close(c.ready)
	<-ctx.Done()
	return c.pool.wait(c.options.StopTimeout)
}

// await waits for a channel to be closed. It returns false if ctx ends first.
func await(ctx context.Context, closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	case <-ctx.Done():
		return false
	}
}

// errExited is the error of a reconciler that called runtime.Goexit, as testing.T.FailNow does.
var errExited = errors.New("the reconciler ended its goroutine (runtime.Goexit): it must return instead")

// handle reconciles one request and requeues it if needed.
func (c *Controller) handle(ctx context.Context, request Request) {
	defer c.queue.Done(request)
	c.written.await(ctx, request)
	inner, run := c.begin(ctx, request)
	measured := c.measured.begin()
	result, err := Result{}, errExited
	defer func() {
		c.end(run, result, err)
		measured.end(result, err)
		c.requeue(ctx, run, result, err)
	}()
	result, err = c.reconcile(inner, request)
}

// requeue enqueues a request again if its run failed or returned RequeueAfter.
func (c *Controller) requeue(ctx context.Context, run *run, result Result, err error) {
	switch {
	case isTerminal(err):
		c.queue.Forget(run.request)
		run.log().Error("reconcile failed permanently: waiting for a change", "error", err)
	case err != nil:
		c.report(ctx, run, err)
		c.queue.AddRateLimited(run.request)
	case result.RequeueAfter > 0:
		c.queue.Forget(run.request)
		c.queue.AddAfter(run.request, result.RequeueAfter)
	default:
		c.queue.Forget(run.request)
	}
}

// reconcile calls the reconciler with the timeout and turns a panic into an error.
func (c *Controller) reconcile(ctx context.Context, request Request) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.measured.panicked()
			err = fmt.Errorf("the reconciler panicked: %v", p)
			Log(ctx).Error("panic while reconciling", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	ctx = c.written.observe(ctx)
	if c.options.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.options.Timeout, errTimeout{c.options.Timeout})
		defer cancel()
	}
	result, err = c.options.Reconciler.Reconcile(ctx, request)
	if err != nil {
		_ = err.Error() // the Error method of a nil pointer panics; it must do so here, within the recover
		err = addTimeout(ctx, err)
	}
	return result, err
}

// addTimeout wraps an error to report that the timeout has passed, unless its text reports that already.
func addTimeout(ctx context.Context, err error) error {
	var timeout errTimeout
	if errors.As(context.Cause(ctx), &timeout) && !strings.Contains(err.Error(), timeout.Error()) {
		return fmt.Errorf("%w: %w", timeout, err)
	}
	return err
}

// errTimeout is the cause of a context that ended because of Options.Timeout.
type errTimeout struct{ limit time.Duration }

func (e errTimeout) Error() string {
	return fmt.Sprintf("the reconcile exceeded its timeout of %v", e.limit)
}

// report logs a failure, unless the controller is stopping. A conflict is logged at debug level.
func (c *Controller) report(ctx context.Context, r *run, err error) {
	switch {
	case ctx.Err() != nil:
	case apierrors.IsConflict(err):
		r.log().Debug("the object was changed concurrently, will retry", "error", err)
	default:
		r.log().Warn("reconcile failed, will retry", "error", err, "failures", c.queue.NumRequeues(r.request)+1)
	}
}

// Terminal marks an error that a retry cannot fix before an object changes. If Reconcile returns the result, or an
// error that wraps it, the controller logs and counts the error and waits for the next change. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminal{err}
}

// isTerminal reports whether an error, or one that it wraps, was marked by Terminal.
func isTerminal(err error) bool {
	if err == nil { // the common case, without an allocation
		return false
	}
	var t *terminal
	return errors.As(err, &t)
}

type terminal struct{ err error }

func (t *terminal) Error() string { return "terminal: " + t.err.Error() }
func (t *terminal) Unwrap() error { return t.err }
