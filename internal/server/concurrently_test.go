package server_test

import (
	"context"
	"testing"

	"golang.org/x/sync/errgroup"
)

// concurrently runs n writers concurrently, and ends the test if one fails.
func concurrently(t testing.TB, n int, write func(ctx context.Context, i int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	for i := range n {
		group.Go(func() error { return write(ctx, i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}
