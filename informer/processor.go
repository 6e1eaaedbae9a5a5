package informer

import (
	"context"
	"slices"
	"time"
)

const (
	// overdueCall is the time after which a handler call is reported; detection may take twice as long.
	overdueCall = 30 * time.Second
	// lastCalls is how long handlers may take to return when an informer ends.
	lastCalls = 5 * time.Second
)

// AddHandler adds a handler, which is called for the cached objects first. It may be called at any time, also
// by a handler.
func (i *Informer[T]) AddHandler(handler Handler[T]) *Registration {
	l := newListener(handler, i.detect, i.log)
	i.mu.Lock()
	defer i.mu.Unlock()
	cached := i.indexer.snapshot()
	first := make([]notice[T], 0, len(cached)+1)
	for _, s := range cached {
		first = append(first, notice[T]{kind: noticeAdd, new: s, flag: true})
	}
	if i.filled {
		first = append(first, notice[T]{kind: noticeSynced})
	}
	l.tell(first)
	i.listeners = append(i.listeners, l)
	if i.running != nil {
		i.start(l)
	}
	return &Registration{synced: l.synced, remove: func() {
		i.removeListener(l)
	}, resync: func() { i.resyncListener(l) }}
}

// removeListener ends the notifications of a handler.
func (i *Informer[T]) removeListener(l *listener[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.listeners = slices.DeleteFunc(i.listeners, func(other *listener[T]) bool { return other == l })
	l.stop()
}

// resyncListener passes the cached objects to one handler.
func (i *Informer[T]) resyncListener(l *listener[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var again []notice[T]
	for _, s := range i.indexer.snapshot() {
		again = append(again, notice[T]{kind: noticeSync, new: s})
	}
	l.tell(again)
}

// start starts the goroutine of a handler. The caller holds the lock.
func (i *Informer[T]) start(l *listener[T]) {
	i.alive[l] = struct{}{}
	ctx := i.running
	i.watchHandlers()
	go i.serve(ctx, l)
}

// serve calls a handler until it is stopped. If the handler ends the goroutine, serve starts another.
func (i *Informer[T]) serve(ctx context.Context, l *listener[T]) {
	returned := false
	defer func() {
		if !returned {
			go i.serve(ctx, l)
			return
		}
		i.mu.Lock()
		delete(i.alive, l)
		i.mu.Unlock()
		close(l.ended)
	}()
	l.run(ctx)
	returned = true
}

// living returns the handlers whose goroutines run.
func (i *Informer[T]) living() []*listener[T] {
	i.mu.Lock()
	defer i.mu.Unlock()
	living := make([]*listener[T], 0, len(i.alive))
	for l := range i.alive {
		living = append(living, l)
	}
	return living
}

// watchHandlers schedules a check for overdue calls. The caller holds the lock.
func (i *Informer[T]) watchHandlers() {
	switch {
	case i.watched == nil:
		i.watched = time.AfterFunc(overdueCall, i.reportOverdue)
	case !i.watching:
		i.watched.Reset(overdueCall)
	}
	i.watching = true
}

// reportOverdue logs handlers that do not return, and checks again while a handler is busy: an idle informer
// has no timer.
func (i *Informer[T]) reportOverdue() {
	busy := false
	for _, l := range i.living() {
		key, overdue := l.overdue()
		busy = busy || key != nil
		if overdue {
			l.log.Warn("a handler is stuck: its notifications wait, other handlers are not affected",
				"object", key.String(), "longer than", overdueCall.String())
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.watching = false
	if busy && i.running != nil {
		i.watchHandlers()
	}
}

// awaitHandlers waits, at most lastCalls, until all handlers have returned.
func (i *Informer[T]) awaitHandlers() {
	i.mu.Lock()
	i.running = nil
	if i.watched != nil {
		i.watched.Stop()
	}
	i.mu.Unlock()
	patience := time.NewTimer(lastCalls)
	defer patience.Stop()
	for _, l := range i.living() {
		select {
		case <-l.ended:
		case <-patience.C:
			patience.Reset(0)
			if !l.hasEnded() {
				l.log.Warn("a handler did not return after its informer stopped: its goroutine is abandoned")
			}
		}
	}
}
