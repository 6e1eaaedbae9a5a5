package serve

import "testing"

// TestGCPercentDecreasesAsHeapGrows checks that the GC percentage decreases as the heap grows.
func TestGCPercentDecreasesAsHeapGrows(t *testing.T) {
	t.Parallel()
	before := 100
	for _, live := range []uint64{0, 600 << 20, 2 << 30} {
		percent := garbagePercent(live)
		if percent >= before {
			t.Errorf("live heap of %d MiB: got %d %%, want less than the %d %% of a smaller heap", live>>20, percent,
				before)
		}
		before = percent
	}
}
