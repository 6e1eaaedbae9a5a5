package server

import (
	"context"
	"testing"
)

// Without tracing, requests only pay for comparisons, and allocate nothing.
func TestNobodyTracingCostsNothing(t *testing.T) {
	var none *spans
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		none.at(stageCommit)
		ctx = none.context(ctx)
		none.end()
	}); n != 0 {
		t.Errorf("a request that nobody traces makes %v allocations", n)
	}
}
