package informer

import (
	"context"
	"slices"
	"time"
)

const (
	// overdueCall is how long a handler may take with one call before that is reported; it may take twice as long.
	overdueCall = 30 * time.Second
	// lastCalls is how long handlers have to return when an informer ends.
	lastCalls = 5 * time.Second
)

// AddHandler has a handler told of all objects, those that are cached already first. It may be called at any time, by a
// handler too.
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
	return &Registration{synced: l.synced, remove: func() { i.removeListener(l) }, resync: func() { i.resyncListener(l) }}
}

// removeListener has a handler told of nothing more.
func (i *Informer[T]) removeListener(l *listener[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.listeners = slices.DeleteFunc(i.listeners, func(other *listener[T]) bool { return other == l })
	l.stop()
}

// resyncListener passes what is cached to one handler again.
func (i *Informer[T]) resyncListener(l *listener[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var again []notice[T]
	for _, s := range i.indexer.snapshot() {
		again = append(again, notice[T]{kind: noticeSync, new: s})
	}
	l.tell(again)
}

// start gives a handler its goroutine. The lock is held.
func (i *Informer[T]) start(l *listener[T]) {
	i.alive[l] = struct{}{}
	ctx := i.running
	i.watchHandlers()
	go i.serve(ctx, l)
}

// serve calls a handler until it is to be told nothing more. A handler that ends the goroutine gets another.
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

// living are the handlers whose goroutines have not ended.
func (i *Informer[T]) living() []*listener[T] {
	i.mu.Lock()
	defer i.mu.Unlock()
	living := make([]*listener[T], 0, len(i.alive))
	for l := range i.alive {
		living = append(living, l)
	}
	return living
}

// watchHandlers looks after handlers that have been told something, in a while. The lock is held.
func (i *Informer[T]) watchHandlers() {
	switch {
	case i.watched == nil:
		i.watched = time.AfterFunc(overdueCall, i.reportOverdue)
	case !i.watching:
		i.watched.Reset(overdueCall)
	}
	i.watching = true
}

// reportOverdue names handlers that do not return, and looks again for as long as one is at work: an informer at rest has no
// timer.
func (i *Informer[T]) reportOverdue() {
	busy := false
	for _, l := range i.living() {
		key, overdue := l.overdue()
		busy = busy || key != nil
		if overdue {
			l.log.Warn("a handler has not returned for a while: what happens meanwhile waits for it, and delays nobody else",
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

// awaitHandlers waits until all handlers have returned, for a moment at the longest.
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
				l.log.Warn("a handler does not return although its informer has ended: its goroutine is left to it")
			}
		}
	}
}
