package bounded_test

import (
	"math"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
)

func TestSecondsDoNotOverflow(t *testing.T) {
	t.Parallel()
	const longest = math.MaxInt64 / time.Second * time.Second
	for n, want := range map[int64]time.Duration{
		math.MinInt64: 0, -1: 0, 0: 0, 30: 30 * time.Second, math.MaxInt64 / 1_000_000_000: longest,
		math.MaxInt64/1_000_000_000 + 1: longest, math.MaxInt64: longest,
	} {
		if got := bounded.Seconds(n); got != want {
			t.Errorf("%d seconds: got %s, want %s", n, got, want)
		}
	}
}

func TestRemainingIsPartOfTheWait(t *testing.T) {
	t.Parallel()
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for start, want := range map[time.Time]time.Duration{
		{}: 0, noon.Add(-time.Hour): 0, noon.Add(-time.Minute): time.Minute, noon: 2 * time.Minute,
		noon.Add(time.Hour): 2 * time.Minute, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC): 2 * time.Minute,
	} {
		if got := bounded.Remaining(2*time.Minute, start, noon); got != want {
			t.Errorf("two minutes that began at %s: got %s at noon, want %s", start, got, want)
		}
	}
}

func TestCountIsInTheRangeOfTheAPI(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]int32{
		math.MinInt64: 0, -1: 0, 7: 7, math.MaxInt32: math.MaxInt32, math.MaxInt32 + 1: math.MaxInt32,
		math.MaxInt64: math.MaxInt32,
	} {
		if got := bounded.Count(n); got != want {
			t.Errorf("%d: got %d, want %d", n, got, want)
		}
	}
}
