package storetest

import (
	"context"
	"sync"

	"github.com/bowline-dev/bowline/internal/store/log"
)

// Faults is a log that is not instant and can be held up or made to fail. Everything else is that of the log beneath.
type Faults struct {
	log.Log

	mu      sync.Mutex
	held    chan struct{}
	failure error
	sizes   []int
}

// Instant is false: the log can be held up.
func (f *Faults) Instant() bool { return false }

// Hold lets the next appends wait until release is called.
func (f *Faults) Hold() (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := make(chan struct{})
	f.held = held
	return func() { close(held) }
}

// Fail lets the next append fail, once it is not held up any more.
func (f *Faults) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = err
}

// Appends is how many commits each append so far had.
func (f *Faults) Appends() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]int(nil), f.sizes...)
}

// Append waits, then fails, or appends to the log beneath.
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

// count records an append and returns the failure that is due.
func (f *Faults) count(size int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sizes = append(f.sizes, size)
	err := f.failure
	f.failure = nil
	return err
}
