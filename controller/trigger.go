package controller

import (
	"sync"
	"time"

	"github.com/bowline-dev/bowline/controller/why"
)

// Trigger is a Source of requests that no informer tells of: whoever sees that something outside the API may have
// changed asks for them. Its zero value is ready. It belongs to one controller; what is asked for before that is made
// waits for it. Its methods may be called by many goroutines, and never wait.
type Trigger struct {
	mu    sync.Mutex
	in    *inbox // the controller's; nil until there is one
	early []func(*inbox)
}

// Add has an object reconciled.
func (t *Trigger) Add(request Request) { t.AddAfter(request, 0) }

// AddAfter has an object reconciled when the delay has passed. Asked for again meanwhile, it is the earlier time that
// counts, so a burst is answered once.
func (t *Trigger) AddAfter(request Request, delay time.Duration) {
	cause := why.Cause{Kind: why.Triggered}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.in == nil {
		t.early = append(t.early, func(in *inbox) { in.addAfter(request, delay, cause) })
		return
	}
	t.in.addAfter(request, delay, cause)
}

// feed gives the trigger its controller. A trigger has nothing to tell of at first, so nobody has to wait for it.
func (t *Trigger) feed(in *inbox) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in = in
	for _, add := range t.early {
		add(in)
	}
	t.early = nil
	synced := make(chan struct{})
	close(synced)
	return synced
}
