package controller

import (
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/why"
)

// Trigger is a Source that enqueues requests on demand, for events outside the API. The zero value is ready to use.
// Pass a *Trigger to Builder.Watches or in Options.Sources of one controller. Requests that are added before the
// controller runs wait for it; requests that are added after it ended are dropped. The methods are safe for concurrent
// use and do not block.
type Trigger struct {
	mu      sync.Mutex
	in      *inbox // of the controller; nil until it runs
	waiting map[Request]time.Time
}

// Add enqueues a request.
func (t *Trigger) Add(request Request) { t.AddAfter(request, 0) }

// AddAfter enqueues a request after a delay. If the same request is already delayed, the earlier time wins.
func (t *Trigger) AddAfter(request Request, delay time.Duration) {
	cause := why.Cause{Kind: why.Triggered}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.in != nil {
		t.in.addAfter(request, delay, cause)
		return
	}
	due := time.Now().Add(delay)
	if before, found := t.waiting[request]; found && before.Before(due) {
		return
	}
	if t.waiting == nil {
		t.waiting = map[Request]time.Time{}
	}
	t.waiting[request] = due
}

// filled returns a closed channel: a trigger has no initial objects.
func (t *Trigger) filled() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

// feed connects the trigger to its controller, permanently.
func (t *Trigger) feed(in *inbox) (synced <-chan struct{}, remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in = in
	for request, due := range t.waiting {
		in.addAfter(request, max(time.Until(due), 0), why.Cause{Kind: why.Triggered})
	}
	t.waiting = nil
	return t.filled(), func() {}
}
