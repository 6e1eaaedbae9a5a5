package storetest

import (
	"context"
	"sync"

	"github.com/bowline-dev/bowline/internal/store/log"
)

// Faults is a log that is not instant and whose appends can be blocked or made to fail. It passes everything
// else to the underlying log.
type Faults struct {
	log.Log

	mu      sync.Mutex
	held    chan struct{}
	failure error
	sizes   []int
}

// Instant returns false: appends can be blocked.
func (f *Faults) Instant() bool { return false }

// Hold blocks appends until release is called.
func (f *Faults) Hold() (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := make(chan struct{})
	f.held = held
	return func() { close(held) }
}

// Fail makes the next append that is not blocked return err.
func (f *Faults) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = err
}

// Appends returns the number of commits in each append so far.
func (f *Faults) Appends() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]int(nil), f.sizes...)
}

// Append waits while blocked, then fails or passes the commits to the underlying log.
func (f *Faults) Append(ctx context.Context, commits []log.Commit) error {
	if err := f.wait(ctx); err != nil {
		return err
	}
	if err := f.count(len(commits)); err != nil {
		return err
	}
	return f.Log.Append(ctx, commits)
}

func (f *Faults) wait(ctx context.Context) error {
	f.mu.Lock()
	held := f.held
	f.mu.Unlock()
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// count records an append and returns the injected error, if any.
func (f *Faults) count(size int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sizes = append(f.sizes, size)
	err := f.failure
	f.failure = nil
	return err
}
