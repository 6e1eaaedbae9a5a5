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
		current, writes, start := 0, 0, time.Now()
		turn := func(backoff *action.StatusBackoff[int], status int) {
			if current == status || backoff.Delay(pod, current, status) > 0 {
				return
			}
			current = status
			backoff.Written(pod, status)
			writes++
		}
		for time.Since(start) < time.Minute {
			turn(one, 1)
			turn(two, 2)
			time.Sleep(100 * time.Millisecond)
		}
		if writes < 6 || writes > 14 {
			t.Errorf("got %d writes in a minute, want 6 to 14", writes)
		}
		for range 10 { // a changed status is written at once
			before := current
			if turn(one, before+10); current != before+10 {
				t.Errorf("changed status: got %d, want %d", current, before+10)
			}
		}
		turn(one, current+1)
		if !one.IsLastWritten(pod, current) || two.IsLastWritten(pod, current) {
			t.Errorf("IsLastWritten: got %t for the last writer and %t for the other, want true and false",
				one.IsLastWritten(pod, current), two.IsLastWritten(pod, current))
		}
		one.Delete(pod)
		if wait := one.Delay(pod, 5, current); wait != 0 {
			t.Errorf("delay after Delete: got %s, want 0", wait)
		}
	})
}
