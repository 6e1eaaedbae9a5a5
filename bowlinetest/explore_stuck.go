package bowlinetest

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
)

// watchdog ends the tests when a run's time stands still: a goroutine of the run works without end, or waits for something outside
// of the bubble. Nobody can end such a goroutine, and the bubble waits for it, so that the test cannot go on. The watchdog
// is outside of the bubble, where time is real.
type watchdog struct {
	plan  fault.Plan
	test  string
	after time.Duration // real, in which no virtual time has passed
	ended chan struct{}

	beats  atomic.Uint64
	bubble atomic.Pointer[string]    // the bubble's number, once it has begun
	faults atomic.Pointer[fault.Run] // once the processes are about to start
}

func (e *explorer) watchdog(plan fault.Plan) *watchdog {
	w := &watchdog{plan: plan, test: e.report.Test, after: e.Stuck, ended: make(chan struct{})}
	go w.watch()
	return w
}

// watch looks whether time has passed, until the run has ended.
func (w *watchdog) watch() {
	ticker := time.NewTicker(w.after)
	defer ticker.Stop()
	for before := uint64(0); ; {
		select {
		case <-w.ended:
			return
		case <-ticker.C:
		}
		now := w.beats.Load()
		if now == before && w.bubble.Load() != nil {
			panic(w.complaint())
		}
		before = now
	}
}

// beat tells from within the bubble that its time passes, until stop is called.
func (w *watchdog) beat() (stop func()) {
	number := ownBubble()
	w.bubble.Store(&number)
	ended := make(chan struct{})
	go func() {
		for {
			w.beats.Add(1)
			select {
			case <-time.After(time.Second):
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }
}

// complaint says who keeps time from passing, in which run, and what to do.
func (w *watchdog) complaint() string {
	o := &outcome{plan: w.plan}
	if faults := w.faults.Load(); faults != nil {
		o.rows = faults.Rows()
	}
	o.problems = []string{fmt.Sprintf("no virtual time has passed in %s: a goroutine works without end, or waits for what is outside of "+
		"its run. What loops must return when its context has ended, or wait between two attempts; locks, channels and timers that "+
		"the process uses must be made by it. If it only takes that long, raise Scenario.Stuck. It is one of these:\n%s",
		w.after, strings.Join(w.awake(), "\n\n"))}
	return "bowlinetest.Explore: a run is stuck\n" + newFailure(w.test, o).String()
}

// awake are the stacks of the goroutines that do not wait for others of the bubble. One that allocates memory may be out of its
// bubble for a moment, so it looks again.
func (w *watchdog) awake() (stacks []string) {
	for range 1000 {
		for _, stack := range goroutinesOf(*w.bubble.Load()) {
			if first, _, _ := strings.Cut(stack, "\n"); !strings.Contains(first, "(durable)") {
				stacks = append(stacks, stack)
			}
		}
		if len(stacks) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return stacks
}

// goroutinesOf are the stacks of a bubble's goroutines.
func goroutinesOf(bubble string) (found []string) {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		first, _, _ := bytes.Cut(stack, []byte("\n"))
		if bytes.Contains(first, []byte("synctest bubble "+bubble+"]")) {
			found = append(found, string(stack))
		}
	}
	return found
}
