package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"

	"github.com/bowline-dev/bowline/internal/store/log"
)

// errChaos is the error of an injected failure, before the append reaches the log.
var errChaos = errors.New("injected failure of an append")

// chaos is a log that randomly delays and fails appends. All others are passed to the underlying log.
type chaos struct {
	log.Log
	random *rand.Rand // only one append runs at a time
}

func newChaos(l log.Log, seed uint64) *chaos { return &chaos{l, rand.New(rand.NewPCG(seed, 3))} }

// Instant returns false: appends may be delayed.
func (c *chaos) Instant() bool { return false }

// Append passes the commits to the log, possibly after a delay, or fails.
func (c *chaos) Append(ctx context.Context, commits []log.Commit) error {
	switch c.random.IntN(10) {
	case 0:
		return errChaos
	case 1, 2:
		for range 200 {
			runtime.Gosched() // lets writers queue up
		}
	}
	return c.Log.Append(ctx, commits)
}
