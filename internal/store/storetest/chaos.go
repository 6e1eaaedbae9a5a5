package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"

	"github.com/bowline-dev/bowline/internal/store/log"
)

// errChaos fails an append that never reached its log.
var errChaos = errors.New("the append fails, by chance")

// chaos is a log whose appends are held up and fail, by chance. What reaches the log beneath is decided there.
type chaos struct {
	log.Log
	random *rand.Rand // only one append is under way at a time
}

func newChaos(l log.Log, seed uint64) *chaos { return &chaos{l, rand.New(rand.NewPCG(seed, 3))} }

// Instant is false: the log may be held up.
func (c *chaos) Instant() bool { return false }

// Append lets others go first, or fails, or appends.
func (c *chaos) Append(ctx context.Context, commits []log.Commit) error {
	switch c.random.IntN(10) {
	case 0:
		return errChaos
	case 1, 2:
		for range 200 {
			runtime.Gosched() // while writers queue up
		}
	}
	return c.Log.Append(ctx, commits)
}
