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
	// longReconcile is the time after which a reconciliation without Options.Timeout counts as stuck.
	longReconcile = 10 * time.Minute
	// grace is the time after the end of its context at which a reconciliation counts as stuck.
	grace = 10 * time.Second
	// mostReplaced is the largest number of stuck workers per controller that are replaced.
	mostReplaced = 8
	// defaultStop is the default of Options.StopTimeout.
	defaultStop = 30 * time.Second
)

// crew is the set of workers of a controller. It reports and replaces workers that are stuck in a
// reconciliation.
type crew struct {
	controller *Controller
	patience   time.Duration

	mu       sync.Mutex
	workers  []*worker
	replaced int
	gone     chan struct{} // closed when the last worker ends; nil until dismiss waits
}

// worker is one goroutine that processes requests. The crew's lock guards its fields.
type worker struct {
	crew    *crew
	ctx     context.Context
	timer   *time.Timer
	request Request
	begun   time.Time // zero while idle
	stuck   bool
	left    bool // was replaced, so it ends when its reconciliation returns
}

func newCrew(c *Controller) *crew {
	patience := longReconcile
	if c.options.Timeout > 0 {
		patience = c.options.Timeout + grace
	}
	return &crew{controller: c, patience: patience}
}

// hire starts a worker that works until ctx ends.
func (c *crew) hire(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start(ctx)
}

func (c *crew) start(ctx context.Context) {
	w := &worker{crew: c, ctx: ctx}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
	c.workers = append(c.workers, w)
	go w.work()
}

func (w *worker) work() {
	exited := false // reset after each request; still set if a reconciler calls runtime.Goexit
	defer func() {
		if exited && !w.end() {
			w.crew.hire(w.ctx)
		}
		w.leave()
	}()
	for {
		request, ok := w.crew.controller.queue.Get(w.ctx)
		if !ok {
			return
		}
		w.begin(request)
		exited = true
		w.crew.controller.handle(w.ctx, request)
		exited = false
		if w.end() {
			return
		}
	}
}

func (w *worker) begin(request Request) {
	w.crew.mu.Lock()
	defer w.crew.mu.Unlock()
	w.request, w.begun = request, time.Now()
	w.timer.Reset(w.crew.patience)
}

// end marks the worker idle and reports whether it was replaced.
func (w *worker) end() (left bool) {
	w.crew.mu.Lock()
	defer w.crew.mu.Unlock()
	w.timer.Stop()
	if w.stuck {
		w.crew.controller.log.Warn("a stuck reconcile has returned", "object", w.request.String(), "after",
			time.Since(w.begun))
	}
	if w.left {
		w.crew.replaced--
	}
	w.begun, w.stuck = time.Time{}, false
	return w.left
}

// look runs when a reconciliation has taken too long: it reports the worker as stuck and starts a
// replacement.
func (w *worker) look() {
	c := w.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.begun.IsZero() || time.Since(w.begun) < c.patience {
		return
	}
	w.stuck = true
	consequence := "its worker is not replaced until it returns"
	if w.ctx.Err() == nil && c.replaced < mostReplaced {
		w.left = true
		c.replaced++
		c.start(w.ctx)
		consequence = "a new worker replaces its worker"
	}
	c.controller.log.Error("a reconcile does not return: "+consequence, "object", w.request.String(),
		"since", w.begun, "for", time.Since(w.begun))
}

// leave removes a worker from the crew.
func (w *worker) leave() {
	c := w.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	w.timer.Stop()
	c.workers = slices.DeleteFunc(c.workers, func(other *worker) bool { return other == w })
	if len(c.workers) == 0 && c.gone != nil {
		close(c.gone)
	}
}

// dismiss waits for the workers, whose context has ended. If some do not end in time, the error names their
// requests.
func (c *crew) dismiss(within time.Duration) error {
	if within == 0 {
		within = defaultStop
	}
	c.mu.Lock()
	c.gone = make(chan struct{})
	if len(c.workers) == 0 {
		close(c.gone)
	}
	c.mu.Unlock()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c.gone:
		return nil
	case <-timer.C:
		all := func(*worker) bool { return true }
		return fmt.Errorf("controller %s: %v after it was stopped, it still reconciles %s: "+
			"the reconciler must return when its context ends", c.controller.options.Name, within, c.underWay(all))
	}
}

// stuck returns an error that names the stuck reconciliations, or nil.
func (c *crew) stuck() error {
	if names := c.underWay(func(w *worker) bool { return w.stuck }); names != "" {
		return errors.New("these reconciles do not return: " + names)
	}
	return nil
}

// underWay lists the requests of the busy workers that match.
func (c *crew) underWay(matches func(*worker) bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, w := range c.workers {
		if !w.begun.IsZero() && matches(w) {
			names = append(names, fmt.Sprintf("%s (for %v)", w.request, time.Since(w.begun).Round(time.Millisecond)))
		}
	}
	return strings.Join(names, ", ")
}
