package serve

import (
	"math"
	"testing"
)

// TestGCPercentDecreasesAsHeapGrows checks that the GC percentage decreases as the heap grows.
func TestGCPercentDecreasesAsHeapGrows(t *testing.T) {
	t.Parallel()
	before := math.MaxInt
	for _, live := range []uint64{4 << 20, 8 << 20, 100 << 20, 600 << 20, 2 << 30} {
		percent := garbagePercent(live)
		if percent >= before {
			t.Errorf("live heap of %d MiB: got %d %%, want less than the %d %% of a smaller heap", live>>20, percent,
				before)
		}
		before = percent
	}
}

// TestGCStartsBeforeLimit checks that the next collection starts within half of what is left of the memory limit.
func TestGCStartsBeforeLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		live  uint64
		limit int64
		want  int
	}{
		{0, 100, maxPercent}, {100, math.MaxInt64, maxPercent}, {100, 300, 100}, {10, 100, 450},
		{50, 100, 50}, {60, 100, 33}, {80, 100, 12},
		{95, 100, minPercent}, {200, 100, minPercent},
	} {
		if got := percentWithin(c.live, c.limit); got != c.want {
			t.Errorf("%d of %d bytes are live: got %d %%, want %d", c.live, c.limit, got, c.want)
		}
	}
}

// TestSmallHeapKeepsGarbage checks that a small heap is not collected before minGarbage has accumulated.
func TestSmallHeapKeepsGarbage(t *testing.T) {
	t.Parallel()
	for _, live := range []uint64{4 << 20, 10 << 20, 60 << 20} {
		if garbage := live * uint64(garbagePercent(live)) / 100; garbage < minGarbage*9/10 || garbage > minGarbage {
			t.Errorf("%d MiB live: got %d MiB of garbage, want %d", live>>20, garbage>>20, minGarbage>>20)
		}
	}
}
