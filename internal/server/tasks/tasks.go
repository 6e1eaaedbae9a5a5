// Package tasks tracks what a server has to wait for when it closes: goroutines, timers and streams.
package tasks

import (
	"context"
	"sync"
)

// Group counts the running tasks of one server. Its methods may be called concurrently.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex // serializes Begin with Cancel
	work   sync.WaitGroup
}

// New returns a group whose context carries the values of ctx, but not its cancellation.
func New(ctx context.Context) *Group {
	g := &Group{}
	g.ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return g
}

// Context returns the context of the tasks, which Cancel cancels.
func (g *Group) Context() context.Context { return g.ctx }

// Begin adds a task, for which Wait waits until Done is called. It returns false once the group is canceled.
func (g *Group) Begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return false
	}
	g.work.Add(1)
	return true
}

// Done ends a task that Begin added.
func (g *Group) Done() { g.work.Done() }

// Cancel cancels the context. No task begins afterwards.
func (g *Group) Cancel() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancel()
}

// Wait waits until all tasks are done. The caller has called Cancel.
func (g *Group) Wait() { g.work.Wait() }
