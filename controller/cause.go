package controller

import (
	"slices"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/why"
	"github.com/bowline-dev/bowline/workqueue"
)

// inbox adds requests to a controller's queue and records the causes of each, since the queue holds only keys. The
// methods are safe for concurrent use and do not block.
type inbox struct {
	queue *workqueue.Queue[Request]

	mu      sync.Mutex
	waiting map[Request]causes // nil once the controller has stopped
	peak    int                // largest size of waiting since it was last empty
}

// causes are the reasons for a request: at most why.MaxCauses of them, and the number of others.
type causes struct {
	list []why.Cause
	more int
	// later holds causes that are delayed until due. The queue has one time per request, the earliest, so due
	// applies to all of them.
	later []why.Cause
	due   time.Time
}

func newInbox(queue *workqueue.Queue[Request]) *inbox {
	return &inbox{queue: queue, waiting: map[Request]causes{}}
}

// close drops all causes and ignores new ones.
func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting, i.peak = nil, 0
}

// add enqueues a request for a cause. Initial objects and resyncs get low priority, so that they do not delay changes.
func (i *inbox) add(request Request, cause why.Cause) {
	i.note(request, cause)
	priority := workqueue.Normal
	if cause.Kind == why.Started || cause.Kind == why.Resynced {
		priority = workqueue.Low
	}
	i.queue.AddWithPriority(request, priority)
}

// addAfter enqueues a request after a delay.
func (i *inbox) addAfter(request Request, delay time.Duration, cause why.Cause) {
	i.noteAfter(request, delay, cause)
	i.queue.AddAfter(request, delay)
}

// note records a cause for the next run of a request. The caller must enqueue the request afterwards.
func (i *inbox) note(request Request, cause why.Cause) { i.noteAfter(request, 0, cause) }

// noteAfter records a cause for the first run of a request after a delay.
func (i *inbox) noteAfter(request Request, delay time.Duration, cause why.Cause) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.waiting == nil {
		return
	}
	known := i.waiting[request]
	if delay > 0 {
		known.addLater(cause, time.Now().Add(delay))
	} else {
		known.add(cause)
	}
	i.set(request, known)
}

// noteRetry records that a request is retried. It drops delayed causes, since the queue dequeues the request once, at
// the earliest time.
func (i *inbox) noteRetry(request Request, cause why.Cause) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.waiting == nil {
		return
	}
	known := i.waiting[request]
	known.later = nil
	known.add(cause)
	i.set(request, known)
}

func (i *inbox) set(request Request, known causes) {
	i.waiting[request] = known
	i.peak = max(i.peak, len(i.waiting))
}

// take removes and returns the causes for a run of the request. Delayed causes that are not due stay.
func (i *inbox) take(request Request) causes {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.waiting[request]
	if known.later != nil && known.due.After(time.Now()) {
		i.waiting[request] = causes{later: known.later, due: known.due}
		return known
	}
	for _, cause := range known.later {
		known.add(cause)
	}
	i.remove(request)
	return known
}

// remove removes a request. A Go map does not shrink, and a controller starts with all objects at once, so
// remove replaces a large map once it is empty.
func (i *inbox) remove(request Request) {
	const large = 1000
	if delete(i.waiting, request); len(i.waiting) == 0 && i.peak > large {
		i.waiting, i.peak = map[Request]causes{}, 0
	}
}

// add records a cause, merged with an existing one if possible.
func (c *causes) add(cause why.Cause) {
	for k := range c.list {
		if merge(&c.list[k], cause) {
			return
		}
	}
	if len(c.list) == why.MaxCauses {
		c.more++
		return
	}
	c.list = append(c.list, cause)
}

// addLater records a delayed cause unless one of its kind is recorded. The earlier due time wins.
func (c *causes) addLater(cause why.Cause, due time.Time) {
	if c.later == nil || due.Before(c.due) {
		c.due = due
	}
	if !slices.ContainsFunc(c.later, func(known why.Cause) bool { return known.Kind == cause.Kind }) {
		c.later = append(c.later, cause)
	}
}

// merge merges cause into known if both describe the same change, or successive changes of one object. It reports
// whether it did.
func merge(known *why.Cause, cause why.Cause) bool {
	if known.Kind != cause.Kind || known.Object != cause.Object || known.UID != cause.UID {
		return false
	}
	if cause.Kind != why.Changed {
		since := known.Since
		*known = cause
		known.Since = since
		return true
	}
	if cause.Change == why.Added { // do not hide a deletion in between
		return known.Change == why.Added && known.Revision == cause.Revision
	}
	if known.Change == why.Deleted {
		return cause.Change == why.Deleted
	}
	if known.Change != why.Added || cause.Change == why.Deleted {
		known.Change = cause.Change
	}
	known.Revision = max(known.Revision, cause.Revision)
	if known.By != cause.By {
		known.By = ""
	}
	return true
}
