package standin

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrOrphaned is why a stand-in ends whose parent has ended.
var ErrOrphaned = errors.New("the process that started this one has ended, and this one with it")

// parentCheck is how often a process asks who its parent is: systems tell a child of its parent's end in ways that differ.
const parentCheck = time.Second

// WhileParentLives returns a context that ends, with ErrOrphaned as its cause, when the parent of this process has ended: tests
// that are killed cannot stop what they have started. It is to be called first of all, and stop when the work is done.
func WhileParentLives(ctx context.Context) (_ context.Context, stop func()) {
	parent := os.Getppid()
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		ticks := time.NewTicker(parentCheck)
		defer ticks.Stop()
		for os.Getppid() == parent {
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return
			}
		}
		cancel(ErrOrphaned)
	}()
	return ctx, func() { cancel(nil) }
}
