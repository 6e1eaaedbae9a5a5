package object_test

import (
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
)

func TestNextEpochIsAboveIssuedRevisions(t *testing.T) {
	t.Parallel()
	now := time.Now()
	clock := object.Revision(now.UnixMicro())
	for _, test := range []struct{ revision, least object.Revision }{
		{5, clock},                         // an old clock
		{clock - 1000, clock},              // a moment ago
		{clock + 1<<40, clock + 1<<40 + 1}, // a clock that was ahead, or repeated restores
	} {
		if got := object.NextEpoch(test.revision, now); got < test.least+1<<31 {
			t.Errorf("NextEpoch(%d) returned %d", test.revision, got)
		}
	}
}

// TestSiblingEpochsDiffer computes two epochs from the same state in the same microsecond.
func TestSiblingEpochsDiffer(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, revision := range []object.Revision{5, object.Revision(now.UnixMicro()) + 1<<40} {
		a, b := object.NextEpoch(revision, now), object.NextEpoch(revision, now)
		if max(a, b)-min(a, b) < 100 {
			t.Errorf("two calls of NextEpoch(%d) returned %d and %d", revision, a, b)
		}
	}
}
