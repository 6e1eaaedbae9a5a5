package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// longReconcile is the duration from which a reconciliation without Options.Timeout counts as stuck.
	longReconcile = 10 * time.Minute
	// grace is the time after the end of its context at which a reconciliation counts as stuck.
	grace = 10 * time.Second
	// maxReplaced is the largest number of stuck workers per controller that are replaced.
	maxReplaced = 8
	// defaultStopTimeout is the default of Options.StopTimeout.
	defaultStopTimeout = 30 * time.Second
)

// pool is the set of workers of a controller. It reports and replaces workers that are stuck in a
// reconciliation.
type pool struct {
	controller *Controller
	stuckAfter time.Duration

	mu       sync.Mutex
	workers  []*worker
	replaced int           // stuck workers that have a replacement
	ended    chan struct{} // closed when the last worker ends; nil until wait is called
}

// worker is one goroutine that processes requests. The pool's lock guards its fields.
type worker struct {
	pool     *pool
	ctx      context.Context
	timer    *time.Timer
	request  Request
	started  time.Time // zero while idle
	stuck    bool
	replaced bool // it ends when its reconciliation returns
}

func newPool(c *Controller) *pool {
	stuckAfter := longReconcile
	if c.options.Timeout > 0 {
		stuckAfter = c.options.Timeout + grace
	}
	return &pool{controller: c, stuckAfter: stuckAfter}
}

// start starts a worker, which works until ctx ends.
func (p *pool) start(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.startLocked(ctx)
}

func (p *pool) startLocked(ctx context.Context) {
	w := &worker{pool: p, ctx: ctx}
	w.timer = time.AfterFunc(time.Hour, w.checkStuck)
	w.timer.Stop()
	p.workers = append(p.workers, w)
	go w.work()
}

func (w *worker) work() {
	exited := false // reset after each request; still set if a reconciler calls runtime.Goexit
	defer func() {
		if exited && !w.end() {
			w.pool.start(w.ctx)
		}
		w.remove()
	}()
	for {
		request, ok := w.pool.controller.queue.Get(w.ctx)
		if !ok {
			return
		}
		w.begin(request)
		exited = true
		w.pool.controller.handle(w.ctx, request)
		exited = false
		if w.end() {
			return
		}
	}
}

func (w *worker) begin(request Request) {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	w.request, w.started = request, time.Now()
	w.timer.Reset(w.pool.stuckAfter)
}

// end marks the worker idle and reports whether it was replaced.
func (w *worker) end() (replaced bool) {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	w.timer.Stop()
	if w.stuck {
		w.pool.controller.log.Warn("a stuck reconcile has returned", "object", w.request.String(), "after",
			time.Since(w.started))
	}
	if w.replaced {
		w.pool.replaced--
	}
	w.started, w.stuck = time.Time{}, false
	return w.replaced
}

// checkStuck runs when a reconciliation has taken too long: it reports the worker as stuck and starts a
// replacement.
func (w *worker) checkStuck() {
	p := w.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.started.IsZero() || time.Since(w.started) < p.stuckAfter {
		return
	}
	w.stuck = true
	consequence := "its worker stays blocked until it returns"
	if w.ctx.Err() == nil && p.replaced < maxReplaced {
		w.replaced = true
		p.replaced++
		p.startLocked(w.ctx)
		consequence = "a replacement worker was started"
	}
	p.controller.log.Error("a reconcile does not return: "+consequence, "object", w.request.String(),
		"since", w.started, "for", time.Since(w.started))
}

// remove removes a worker from the pool.
func (w *worker) remove() {
	p := w.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	w.timer.Stop()
	p.workers = slices.DeleteFunc(p.workers, func(other *worker) bool { return other == w })
	if len(p.workers) == 0 && p.ended != nil {
		close(p.ended)
	}
}

// wait waits for the workers, whose context has ended. If some do not end in time, the error names their
// requests.
func (p *pool) wait(timeout time.Duration) error {
	if timeout == 0 {
		timeout = defaultStopTimeout
	}
	p.mu.Lock()
	p.ended = make(chan struct{})
	if len(p.workers) == 0 {
		close(p.ended)
	}
	p.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timer.C:
		all := func(*worker) bool { return true }
		return fmt.Errorf("controller %s: %v after it was stopped, it is still reconciling %s: "+
			"the reconciler must return when its context ends", p.controller.options.Name, timeout, p.running(all))
	}
}

// stuck returns an error that names the stuck reconciliations, or nil.
func (p *pool) stuck() error {
	if names := p.running(func(w *worker) bool { return w.stuck }); names != "" {
		return errors.New("these reconciles do not return: " + names)
	}
	return nil
}

// running lists the requests of the busy workers that match.
func (p *pool) running(matches func(*worker) bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, w := range p.workers {
		if !w.started.IsZero() && matches(w) {
			names = append(names, fmt.Sprintf("%s (for %v)", w.request, time.Since(w.started).Round(time.Millisecond)))
		}
	}
	return strings.Join(names, ", ")
}
