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

// watchdog ends the test binary when a run's virtual time stands still because a goroutine of the run loops,
// or waits for something outside the bubble. Such a goroutine cannot be ended, and the bubble waits for it,
// so the test cannot continue. The watchdog runs outside the bubble, in real time. synctest detects
// goroutines that wait forever inside the bubble: see beat.
type watchdog struct {
	plan    fault.Plan
	test    string
	after   time.Duration // real time without progress
	maxTime time.Duration // virtual time that the run may take
	ended   chan struct{}

	beats    atomic.Uint64
	exceeded atomic.Bool                   // the run exceeds maxTime, and beats have ended
	bubble   atomic.Pointer[string]        // number of the bubble, once it has started
	history  atomic.Pointer[fault.History] // set before the plane starts
	faults   atomic.Pointer[fault.Run]     // set before the processes start
}

const (
	// maxVirtualTime limits the virtual time of the run without faults.
	maxVirtualTime = 20 * 365 * 24 * time.Hour
	// maxCommits is the number of commits that count as progress. An endless loop of writes exceeds it.
	maxCommits = 1_000_000
)

func (e *explorer) watchdog(plan fault.Plan) *watchdog {
	w := &watchdog{plan: plan, test: e.report.Test, after: e.Stuck, maxTime: e.virtualLimit(),
		ended: make(chan struct{})}
	go w.watch()
	return w
}

// virtualLimit returns the maximal virtual time of the next run: much more than the run without faults took,
// since processes back off after errors, but so little that periodic timers do not make the run slow.
func (e *explorer) virtualLimit() time.Duration {
	if e.bases[0] == nil {
		return maxVirtualTime
	}
	return min(maxVirtualTime, 24*time.Hour+10*e.bases[0].virtual)
}

// stuckChecks is the number of consecutive checks without progress after which a run is stuck.
const stuckChecks = 10

// watch checks the run's progress until the run has ended. It counts checks rather than time, so a machine
// that was suspended does not count as a stuck run.
func (w *watchdog) watch() {
	ticker := time.NewTicker(w.after / stuckChecks)
	defer ticker.Stop()
	for before, unchanged := 0, 0; ; {
		select {
		case <-w.ended:
			return
		case <-ticker.C:
		}
		now := w.progress()
		if unchanged++; now != before || w.bubble.Load() == nil || w.exceeded.Load() {
			before, unchanged = now, 0
		}
		if unchanged == stuckChecks {
			panic(w.message())
		}
	}
}

// progress returns a number that grows while virtual time passes, and within one instant with commits, such
// as the thousands that a setup may make, and with requests of the processes, whose rate MostRequests limits.
func (w *watchdog) progress() int {
	n := int(w.beats.Load())
	if history := w.history.Load(); history != nil {
		n += min(len(history.Changes(0)), maxCommits)
	}
	if faults := w.faults.Load(); faults != nil {
		n += faults.AllRequests()
	}
	return n
}

// beat signals from within the bubble that its time passes, until stop is called. The interval grows, so that
// a sleep of a year stays cheap. Beats end after the virtual time of w.maxTime, since synctest does not detect a
// deadlock while a timer runs. The run fails then; before the processes have started, synctest panics
// instead.
func (w *watchdog) beat() (stop func()) {
	number := ownBubble()
	w.bubble.Store(&number)
	ended, began := make(chan struct{}), time.Now()
	go func() {
		for elapsed := time.Duration(0); elapsed < w.maxTime; elapsed = time.Since(began) {
			w.beats.Add(1)
			select {
			case <-time.After(max(time.Second, elapsed/100)):
			case <-ended:
				return
			}
		}
		w.exceeded.Store(true)
		if faults := w.faults.Load(); faults != nil {
			faults.Fail("the run does not end: after %s, a goroutine still waits. The user should "+
				"not wait for effects of processes, and must stop when the context is "+
				"canceled", w.maxTime.Round(time.Hour))
		}
	}()
	return func() { close(ended) }
}

// message describes the stuck run, the goroutines that block it, and the remedy.
func (w *watchdog) message() string {
	o := &outcome{plan: w.plan}
	if faults := w.faults.Load(); faults != nil {
		o.rows = faults.Rows()
	}
	o.problems = []string{fmt.Sprintf("no virtual time has passed in %s: a goroutine is in an endless loop, or "+
		"waits for something outside of "+
		"its run. A loop must return when its context is canceled, or wait between two attempts; locks, channels "+
		"and timers that "+
		"the process uses must be created by it. If it is only slow, raise Scenario.Stuck. It is one of these:\n%s",
		w.after, strings.Join(w.awake(), "\n\n"))}
	return "bowlinetest.Explore: a run is stuck\n" + newFailure(w.test, o).String()
}

// awake returns the stacks of the goroutines that do not wait for others of the bubble, or all stacks if
// there seem to be none. A goroutine that allocates memory may leave its bubble for a moment, so awake
// retries, but only a few times, because taking stacks stops the world.
func (w *watchdog) awake() (stacks []string) {
	var all []string
	for range 20 {
		all = goroutinesOf(*w.bubble.Load())
		for _, stack := range all {
			if first, _, _ := strings.Cut(stack, "\n"); !strings.Contains(first, "(durable)") {
				stacks = append(stacks, stack)
			}
		}
		if len(stacks) > 0 {
			return stacks
		}
		time.Sleep(time.Millisecond)
	}
	return all
}

// goroutinesOf returns the stacks of a bubble's goroutines, selected from those of the whole process.
func goroutinesOf(bubble string) (found []string) {
	stacks := make([]byte, 4<<20)
	n := runtime.Stack(stacks, true)
	for n == len(stacks) { // the buffer was too small
		stacks = make([]byte, 2*len(stacks))
		n = runtime.Stack(stacks, true)
	}
	for stack := range bytes.SplitSeq(stacks[:n], []byte("\n\n")) {
		first, _, _ := bytes.Cut(stack, []byte("\n"))
		if bytes.Contains(first, []byte("synctest bubble "+bubble+"]")) {
			found = append(found, string(stack))
		}
	}
	return found
}
