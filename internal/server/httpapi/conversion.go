package httpapi

import (
	"net/http"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/render"
	"github.com/bowline-dev/bowline/internal/server/request"
)

// conversionTask is the name, among the tasks of the server, of requests whose conversion webhook has not answered.
const conversionTask = "requests that wait for conversion webhooks"

const (
	// conversionGrace is how long a request may take to end by itself after its deadline.
	conversionGrace = time.Second
	// maxOverdue is the maximum number of requests of all users that still run after they were answered.
	maxOverdue = 1_000
)

// callsWebhook reports whether objects of a kind are converted by a webhook.
func callsWebhook(k kind.Kind) bool {
	custom, ok := k.(kind.Custom)
	return ok && custom.CallsWebhook()
}

// answer runs the verb's function and renders its result. It also returns the request's warnings. The answer of a
// watch, which has been sent, has no code.
//
// A conversion has no context, because requests share its result. So a request that may call a conversion webhook, for
// up to 30 seconds each time, runs on a goroutine of its own, and answer returns soon after the request's deadline in
// any case. The caller must not use req any more.
func (h *Handler) answer(x *exchange, w http.ResponseWriter, req *request.Request) (render.Answer, []string, error) {
	if x.bounded == nil || !callsWebhook(req.Kind) || !h.o.Tasks.Begin(conversionTask) {
		a, err := h.answerNow(x, w, req)
		return a, req.Warnings, err
	}
	c := &conversion{h: h, x: x, req: req, done: make(chan struct{}), seats: x.seats}
	x.seats = fair.Seats{}
	route := *req.Route
	req.Route, req.Seats = &route, &c.seats
	early := slices.Clone(req.Warnings)
	go c.run(w)
	select {
	case <-c.done:
		return c.result()
	case <-x.bounded.Done():
	}
	grace := time.NewTimer(conversionGrace)
	defer grace.Stop()
	select {
	case <-c.done:
	case <-grace.C:
		if h.overdue.Add(1) <= maxOverdue && c.left.CompareAndSwap(false, true) {
			return render.Answer{}, early, x.bounded.Err()
		}
		h.overdue.Add(-1)
		<-c.done
	}
	return c.result()
}

// answerNow is answer on the goroutine of the request.
func (h *Handler) answerNow(x *exchange, w http.ResponseWriter, req *request.Request) (render.Answer, error) {
	res, err := h.run(x, w, req)
	if err != nil || res == nil {
		return render.Answer{}, err
	}
	return render.Result(req, x.r.Header.Get("Accept"), res)
}

// conversion is a request that runs on a goroutine of its own.
type conversion struct {
	h *Handler
	x *exchange
	// left is set by whichever comes first: the end of the request, or the handler that no longer waits for it.
	left atomic.Bool
	// done is closed at the end of the request, unless the handler has left. The fields below belong to the goroutine
	// until then.
	done     chan struct{}
	req      *request.Request
	seats    fair.Seats
	answer   render.Answer
	err      error
	panicked any
}

// run runs the request. If the handler has left when it ends, it gives the seats back. They limit how many requests a
// user can leave behind, and maxOverdue limits those without seats.
func (c *conversion) run(w http.ResponseWriter) {
	if c.x.r.Method != http.MethodGet {
		growStack(0)
	}
	defer c.h.o.Tasks.Done(conversionTask)
	defer func() {
		if c.panicked = recover(); c.panicked != nil && c.panicked != http.ErrAbortHandler {
			c.h.o.Log.Error("a request panicked", "path", c.req.Path, "panic", c.panicked, "stack", string(debug.Stack()))
		}
		if c.left.CompareAndSwap(false, true) {
			close(c.done)
			return
		}
		c.seats.Leave()
		c.h.overdue.Add(-1)
	}()
	c.answer, c.err = c.h.answerNow(c.x, w, c.req)
}

// result takes the seats back, and returns what the request returned.
func (c *conversion) result() (render.Answer, []string, error) {
	c.x.seats = c.seats
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.answer, c.req.Warnings, c.err
}
