package controller

import (
	"slices"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/why"
	"github.com/bowline-dev/bowline/workqueue"
)

// inbox takes requests into a controller's queue, and keeps beside it why each is there. The queue itself holds keys alone.
// Its methods may be called by many goroutines and never wait.
type inbox struct {
	queue *workqueue.Queue[Request]

	mu      sync.Mutex
	waiting map[Request]causes // nil when nobody takes any more
	most    int                // requests that have waited at once
}

// causes are why a request is made: why.MaxCauses of them at most, and how many more there were.
type causes struct {
	list []why.Cause
	more int
	// later are those whose time is yet to come. It is due for all of them: the queue keeps one time for a request, the earliest.
	later []why.Cause
	due   time.Time
}

func newInbox(queue *workqueue.Queue[Request]) *inbox {
	return &inbox{queue: queue, waiting: map[Request]causes{}}
}

// close forgets everything, for good.
func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting, i.most = nil, 0
}

// add has a request worked on, because of that. What was there when the controller began, and a resync, nobody waits for.
func (i *inbox) add(request Request, cause why.Cause) {
	i.note(request, cause)
	priority := workqueue.Normal
	if cause.Kind == why.Started || cause.Kind == why.Resynced {
		priority = workqueue.Low
	}
	i.queue.AddWithPriority(request, priority)
}

// addAfter has a request worked on when the delay has passed.
func (i *inbox) addAfter(request Request, delay time.Duration, cause why.Cause) {
	i.noteAfter(request, delay, cause)
	i.queue.AddAfter(request, delay)
}

// note keeps a cause for the next run of a request, which must get into the queue afterwards.
func (i *inbox) note(request Request, cause why.Cause) { i.noteAfter(request, 0, cause) }

// noteAfter keeps a cause for the first run of a request after a delay.
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
	i.remember(request, known)
}

// noteRetry keeps why a request is tried again. What it was to come for later is over with that: the queue keeps the earlier time.
func (i *inbox) noteRetry(request Request, cause why.Cause) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.waiting == nil {
		return
	}
	known := i.waiting[request]
	known.later = nil
	known.add(cause)
	i.remember(request, known)
}

func (i *inbox) remember(request Request, known causes) {
	i.waiting[request] = known
	i.most = max(i.most, len(i.waiting))
}

// take gives the causes of a request that is about to be worked on to its run. Those whose time has not come wait on.
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
	i.forget(request)
	return known
}

// forget removes a request. A map keeps the room that it once needed, and a controller begins with all objects at once: when
// it has become empty after so many, its room is given back.
func (i *inbox) forget(request Request) {
	const many = 1000
	if delete(i.waiting, request); len(i.waiting) == 0 && i.most > many {
		i.waiting, i.most = map[Request]causes{}, 0
	}
}

// add merges a cause into those that are known.
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

// addLater adds a cause whose time is yet to come, if no other one of its kind is there. It is the earlier time that counts.
func (c *causes) addLater(cause why.Cause, due time.Time) {
	if c.later == nil || due.Before(c.due) {
		c.due = due
	}
	if !slices.ContainsFunc(c.later, func(known why.Cause) bool { return known.Kind == cause.Kind }) {
		c.later = append(c.later, cause)
	}
}

// merge makes one cause of two changes of one object that follow each other, and of two that say the same.
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
	if cause.Change == why.Added { // a deletion in between is not hidden
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
