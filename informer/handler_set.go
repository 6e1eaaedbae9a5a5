package informer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/client"
)

const (
	// overdueCall is the time after which a handler call is reported; detection may take twice as long.
	overdueCall = 30 * time.Second
	// stopTimeout is how long Run waits for handlers to return after its context ended.
	stopTimeout = 5 * time.Second
)

// handlerSet holds the handlers of an informer and owns their goroutines. Each handler has its own backlog, so a
// slow one delays no other.
type handlerSet[T client.Object] struct {
	// mu is the informer's lock. It guards all other fields, and keeps notifications consistent with the cache: a
	// handler that is added late gets the cached objects first, and then all later changes.
	mu        *sync.Mutex
	listeners []*listener[T]
	alive     map[*listener[T]]struct{} // listeners whose goroutine runs, including removed ones
	running   context.Context           // context of the goroutines; nil unless the informer runs
	check     *time.Timer               // runs reportOverdue; nil until it is first needed
	checking  bool                      // check is scheduled
}

// add adds a handler, which is called with the notices in first before any other. The caller holds the lock.
func (h *handlerSet[T]) add(l *listener[T], first []notice[T]) {
	l.enqueue(first)
	h.listeners = append(h.listeners, l)
	if h.running != nil {
		h.start(l)
	}
}

// run starts the goroutines of all handlers, which run until ctx ends. Handlers that are added later are started
// by add.
func (h *handlerSet[T]) run(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = ctx
	for _, l := range h.listeners {
		h.start(l)
	}
}

// notify queues notices for all handlers. The caller holds the lock.
func (h *handlerSet[T]) notify(notices []notice[T]) {
	for _, l := range h.listeners {
		l.enqueue(notices)
	}
}

// remove ends the notifications of a handler.
func (h *handlerSet[T]) remove(l *listener[T]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners = slices.DeleteFunc(h.listeners, func(other *listener[T]) bool { return other == l })
	l.stop()
}

// start starts the goroutine of a handler. The caller holds the lock.
func (h *handlerSet[T]) start(l *listener[T]) {
	h.alive[l] = struct{}{}
	ctx := h.running
	h.scheduleCheck()
	go h.serve(ctx, l)
}

// serve calls a handler until it is stopped. If the handler ends the goroutine, serve starts another.
func (h *handlerSet[T]) serve(ctx context.Context, l *listener[T]) {
	returned := false
	defer func() {
		if !returned {
			go h.serve(ctx, l)
			return
		}
		h.mu.Lock()
		delete(h.alive, l)
		h.mu.Unlock()
		close(l.ended)
	}()
	l.run(ctx)
	returned = true
}

// listAlive returns the handlers whose goroutines run.
func (h *handlerSet[T]) listAlive() []*listener[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	alive := make([]*listener[T], 0, len(h.alive))
	for l := range h.alive {
		alive = append(alive, l)
	}
	return alive
}

// scheduleCheck schedules a check for overdue calls. The caller holds the lock.
func (h *handlerSet[T]) scheduleCheck() {
	switch {
	case h.check == nil:
		h.check = time.AfterFunc(overdueCall, h.reportOverdue)
	case !h.checking:
		h.check.Reset(overdueCall)
	}
	h.checking = true
}

// reportOverdue logs handlers that do not return, and checks again while a handler is busy: an idle informer
// has no timer.
func (h *handlerSet[T]) reportOverdue() {
	busy := false
	for _, l := range h.listAlive() {
		key, overdue := l.overdue()
		busy = busy || key != nil
		if overdue {
			l.log.Warn("a handler does not return: its notifications wait, other handlers are not affected",
				"object", key.String(), "longer than", overdueCall.String())
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checking = false
	if busy && h.running != nil {
		h.scheduleCheck()
	}
}

// stop waits, at most stopTimeout, until all handlers have returned. The context of run must have ended.
func (h *handlerSet[T]) stop() {
	h.mu.Lock()
	h.running = nil
	if h.check != nil {
		h.check.Stop()
	}
	h.mu.Unlock()
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	for _, l := range h.listAlive() {
		select {
		case <-l.ended:
		case <-timeout.C:
			timeout.Reset(0)
			if !l.hasEnded() {
				l.log.Warn("a handler did not return after its informer stopped: its goroutine is abandoned")
			}
		}
	}
}
