package stage

import (
	"context"
	"net/http"
	"testing"
)

// Without tracing, requests only pay for comparisons, and allocate nothing.
func TestUntracedRequestsAllocateNothing(t *testing.T) {
	var none *Spans
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		none.At(Commit)
		ctx = none.Context(ctx)
		none.End(http.StatusOK, 0)
	}); n != 0 {
		t.Errorf("an untraced request makes %v allocations", n)
	}
}
