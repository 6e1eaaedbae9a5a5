// Package seed chooses and reports the seeds of randomized tests.
package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Of returns a new seed for a test, which is printed if the test fails. Setting BOWLINE_SEED repeats the
// choices of an earlier run, but not the interleaving of concurrent clients.
func Of(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("BOWLINE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("invalid BOWLINE_SEED %q: must be a number", text)
		}
	}
	t.Logf("BOWLINE_SEED=%d", seed)
	return seed
}
