// Package seed is where random tests get the number from that all their choices follow from.
package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Of is a new seed for a test, which prints it when it fails. BOWLINE_SEED repeats one: the same choices are made again, but not
// in the same moments where clients work at once.
func Of(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("BOWLINE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("BOWLINE_SEED is %q: it must be a number", text)
		}
	}
	t.Logf("BOWLINE_SEED=%d", seed)
	return seed
}
