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
	// longReconcile is how long a reconcile without Options.Timeout takes before it counts as stuck.
	longReconcile = 10 * time.Minute
	// grace is how long a reconcile may go on after its context has ended before it counts as stuck.
	grace = 10 * time.Second
	// mostReplaced is how many workers of a controller may be stuck and have others in their places.
	mostReplaced = 8
	// defaultStop is how long stopping waits for reconciles that are under way.
	defaultStop = 30 * time.Second
)

// crew is the workers of a controller. One that is stuck in a reconcile that does not return is reported, and another works
// in its place.
type crew struct {
	controller *Controller
	patience   time.Duration

	mu       sync.Mutex
	workers  []*worker
	replaced int
	gone     chan struct{} // closed when the last worker goes; nil while nobody waits for that
}

// worker is one goroutine that takes requests. Its fields are under the crew's lock.
type worker struct {
	crew    *crew
	ctx     context.Context
	timer   *time.Timer
	request Request
	begun   time.Time // zero between requests
	stuck   bool
	left    bool // another has its place: it ends when it returns
}

func newCrew(c *Controller) *crew {
	patience := longReconcile
	if c.options.Timeout > 0 {
		patience = c.options.Timeout + grace
	}
	return &crew{controller: c, patience: patience}
}

// hire starts a worker, which works until ctx ends.
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
	exited := false // in the middle of a reconcile, with runtime.Goexit
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

// end says whether another worker has the place of this one.
func (w *worker) end() (left bool) {
	w.crew.mu.Lock()
	defer w.crew.mu.Unlock()
	w.timer.Stop()
	if w.stuck {
		w.crew.controller.log.Warn("a reconcile that was stuck has returned", "object", w.request.String(), "after", time.Since(w.begun))
	}
	if w.left {
		w.crew.replaced--
	}
	w.begun, w.stuck = time.Time{}, false
	return w.left
}

// look is called when a reconcile should have returned long ago.
func (w *worker) look() {
	c := w.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.begun.IsZero() || time.Since(w.begun) < c.patience {
		return
	}
	w.stuck = true
	consequence := "its worker is lost until it returns"
	if w.ctx.Err() == nil && c.replaced < mostReplaced {
		w.left = true
		c.replaced++
		c.start(w.ctx)
		consequence = "another worker takes its place"
	}
	c.controller.log.Error("a reconcile does not return: "+consequence, "object", w.request.String(),
		"since", w.begun, "for", time.Since(w.begun))
}

// leave takes a worker off the crew.
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

// dismiss waits for the workers, whose context has ended. The error names what those do that are not waited for.
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

// stuck is an error that names the reconciles that do not return, and nil when there are none.
func (c *crew) stuck() error {
	if names := c.underWay(func(w *worker) bool { return w.stuck }); names != "" {
		return errors.New("these reconciles do not return: " + names)
	}
	return nil
}

// underWay names what the workers do that match.
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
