// Package tasks tracks what a server has to wait for when it closes: goroutines, timers and streams.
package tasks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Group counts the running tasks of one server. Its methods may be called concurrently.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex // serializes Begin with Cancel, and guards the fields below
	counts map[string]int
	idle   chan struct{} // nil until Wait is called; closed when no task is left
}

// New returns a group whose context carries the values of ctx, but not its cancellation.
func New(ctx context.Context) *Group {
	g := &Group{counts: map[string]int{}}
	g.ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return g
}

// Context returns the context of the tasks, which Cancel cancels.
func (g *Group) Context() context.Context { return g.ctx }

// Begin adds a task, for which Wait waits until Done is called with the same name, such as "expiry of events". It
// returns false once the group is canceled.
func (g *Group) Begin(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return false
	}
	g.counts[name]++
	return true
}

// Done ends a task that Begin added.
func (g *Group) Done(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.counts[name]--; g.counts[name] == 0 {
		delete(g.counts, name)
	}
	if len(g.counts) == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// Cancel cancels the context. No task begins afterwards.
func (g *Group) Cancel() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancel()
}

// Wait waits until all tasks are done. If ctx ends first, the error names those that are not. The caller has called
// Cancel.
func (g *Group) Wait(ctx context.Context) error {
	g.mu.Lock()
	if len(g.counts) == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.counts) == 0 {
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(g.counts)) {
		names = append(names, fmt.Sprintf("%s (%d)", name, g.counts[name]))
	}
	return fmt.Errorf("tasks of the server do not end: %s", strings.Join(names, ", "))
}
