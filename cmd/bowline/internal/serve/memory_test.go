package serve

import "testing"

// TestGCPercentDecreasesAsHeapGrows checks that the GC percentage decreases as the heap grows.
func TestGCPercentDecreasesAsHeapGrows(t *testing.T) {
	t.Parallel()
	before := 100
	for _, live := range []uint64{0, 600 << 20, 2 << 30} {
		percent := garbagePercent(live)
		if percent >= before {
			t.Errorf("got %[2]d %% for a live heap of %[1]d MiB, but %[3]d %% for a smaller one", live>>20, percent,
				before)
		}
		before = percent
	}
}
