package standin

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrOrphaned is the cancellation cause if the parent process has ended.
var ErrOrphaned = errors.New("the parent process has ended")

// parentCheck is the interval at which the parent's process ID is polled. Polling works on all systems;
// notification of a parent's death differs between them.
const parentCheck = time.Second

// WhileParentLives returns a context that is canceled with the cause ErrOrphaned when the parent process of
// this one has ended, because tests that are killed cannot stop the processes they have started. It must be
// called right after the process starts. The caller calls stop to release its resources.
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
