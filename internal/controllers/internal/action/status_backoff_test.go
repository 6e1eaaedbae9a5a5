package action_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Two controllers with different counts overwrite each other's status less and less often. A single
// controller never waits.
func TestConflictingStatusWritesBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two, pod := &action.StatusBackoff[int]{}, &action.StatusBackoff[int]{},
			controller.Request{Namespace: "default", Name: "web"}
		stands, writes, begun := 0, 0, time.Now()
		turn := func(told *action.StatusBackoff[int], counts int) {
			if stands == counts || told.Delay(pod, stands, counts) > 0 {
				return
			}
			stands = counts
			told.Written(pod, counts)
			writes++
		}
		for time.Since(begun) < time.Minute {
			turn(one, 1)
			turn(two, 2)
			time.Sleep(100 * time.Millisecond)
		}
		if writes < 6 || writes > 14 {
			t.Errorf("%d writes in a minute", writes)
		}
		for range 10 { // a changed status is written at once
			before := stands
			if turn(one, before+10); stands != before+10 {
				t.Errorf("%d was not written: the status is %d", before+10, stands)
			}
		}
		turn(one, stands+1)
		if !one.IsLastWritten(pod, stands) || two.IsLastWritten(pod, stands) {
			t.Error("only the last writer may be unopposed")
		}
		one.Delete(pod)
		if wait := one.Delay(pod, 5, stands); wait != 0 {
			t.Errorf("delay after Delete: got %s", wait)
		}
	})
}
