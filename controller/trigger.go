package controller

import (
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/why"
)

// Trigger is a Source of requests that no informer tells of: whoever sees that something outside the API may have
// changed asks for them. Its zero value is ready. It belongs to one controller; what is asked for before that runs
// waits for it, and what is asked for afterwards is forgotten. Its methods may be called by many goroutines, and never wait.
type Trigger struct {
	mu    sync.Mutex
	in    *inbox // the controller's; nil before it runs
	early map[Request]time.Time
}

// Add has an object reconciled.
func (t *Trigger) Add(request Request) { t.AddAfter(request, 0) }

// AddAfter has an object reconciled when the delay has passed. Asked for again meanwhile, it is the earlier time that
// counts, so a burst is answered once.
func (t *Trigger) AddAfter(request Request, delay time.Duration) {
	cause := why.Cause{Kind: why.Triggered}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.in != nil {
		t.in.addAfter(request, delay, cause)
		return
	}
	due := time.Now().Add(delay)
	if before, again := t.early[request]; again && before.Before(due) {
		return
	}
	if t.early == nil {
		t.early = map[Request]time.Time{}
	}
	t.early[request] = due
}

// filled is closed: a trigger has nothing to tell of at first, so nobody has to wait for it.
func (t *Trigger) filled() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

// feed gives the trigger its controller, for good.
func (t *Trigger) feed(in *inbox) (synced <-chan struct{}, remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in = in
	for request, due := range t.early {
		in.addAfter(request, max(time.Until(due), 0), why.Cause{Kind: why.Triggered})
	}
	t.early = nil
	return t.filled(), func() {}
}
