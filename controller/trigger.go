package controller

import (
	"sync"
	"time"

	"github.com/bowline-dev/bowline/workqueue"
)

// Trigger is a Source of requests that no informer tells of: whoever sees that something outside the API may have
// changed asks for them. Its zero value is ready. It belongs to one controller; what is asked for before that is made
// waits for it. Its methods may be called by many goroutines, and never wait.
type Trigger struct {
	mu    sync.Mutex
	queue *workqueue.Queue[Request] // the controller's; nil until there is one
	early []func(*workqueue.Queue[Request])
}

// Add has an object reconciled.
func (t *Trigger) Add(request Request) { t.AddAfter(request, 0) }

// AddAfter has an object reconciled when the delay has passed. Asked for again meanwhile, it is the earlier time that
// counts, so a burst is answered once.
func (t *Trigger) AddAfter(request Request, delay time.Duration) {
	add := func(queue *workqueue.Queue[Request]) { queue.AddAfter(request, delay) }
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queue == nil {
		t.early = append(t.early, add)
		return
	}
	add(t.queue)
}

// feed gives the trigger its controller. A trigger has nothing to tell of at first, so nobody has to wait for it.
func (t *Trigger) feed(queue *workqueue.Queue[Request]) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = queue
	for _, add := range t.early {
		add(queue)
	}
	t.early = nil
	synced := make(chan struct{})
	close(synced)
	return synced
}
