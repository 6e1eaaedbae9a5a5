package read

import (
	"io"
	"testing"
	"testing/synctest"
)

// A Source's watch, which has no tick, returns the changes that are ready before it ends because the server closes.
func TestSourceReturnsReadyChangesBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for range 20 { // a wait on both at once would choose at random
		synctest.Test(t, func(t *testing.T) {
			f := newTestFeed(t)
			f.tick = nil
			f.commit(t, "a", 1)
			f.want(t, t.Context(), 1, nil) // the watch has waited before
			f.commit(t, "b", batch+1)
			f.tasks.Cancel()
			f.want(t, t.Context(), batch, nil)
			f.want(t, t.Context(), 1, nil)
			f.want(t, t.Context(), 0, io.EOF)
		})
	}
}
