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
// is outside of the bubble, where time is real. What waits for ever is the bubble's own to find: see beat.
type watchdog struct {
	plan  fault.Plan
	test  string
	after time.Duration // real, in which nothing has gone on
	most  time.Duration // virtual, that the run can take
	ended chan struct{}

	beats   atomic.Uint64
	off     atomic.Bool                   // so much time has passed that there are no more beats
	bubble  atomic.Pointer[string]        // the bubble's number, once it has begun
	history atomic.Pointer[fault.History] // once the plane is about to start
	faults  atomic.Pointer[fault.Run]     // once the processes are about to start
}

const (
	// mostVirtual is how long the undisturbed run can take, in virtual time.
	mostVirtual = 20 * 365 * 24 * time.Hour
	// mostCommits is how many commits show that a run goes on. What writes without end makes more.
	mostCommits = 1_000_000
)

func (e *explorer) watchdog(plan fault.Plan) *watchdog {
	w := &watchdog{plan: plan, test: e.report.Test, after: e.Stuck, most: e.mostVirtual(), ended: make(chan struct{})}
	go w.watch()
	return w
}

// mostVirtual is how long the next run can take, in virtual time: much longer than the undisturbed one, since processes pause after
// errors, but not so long that those that watch make it slow.
func (e *explorer) mostVirtual() time.Duration {
	if e.bases[0] == nil {
		return mostVirtual
	}
	return min(mostVirtual, 24*time.Hour+10*e.bases[0].virtual)
}

// looks is how often it looks for progress before it says that there is none.
const looks = 10

// watch looks whether the run goes on, until it has ended. It counts how often it saw that it does not: a machine that was asleep
// has not looked.
func (w *watchdog) watch() {
	ticker := time.NewTicker(w.after / looks)
	defer ticker.Stop()
	for before, still := 0, 0; ; {
		select {
		case <-w.ended:
			return
		case <-ticker.C:
		}
		now := w.progress()
		if still++; now != before || w.bubble.Load() == nil || w.off.Load() {
			before, still = now, 0
		}
		if still == looks {
			panic(w.complaint())
		}
	}
}

// progress grows while time passes, and in one instant while there are commits, as the thousands that a setup may make, or
// requests of the processes, of which a run has no more than MostRequests in a minute.
func (w *watchdog) progress() int {
	n := int(w.beats.Load())
	if history := w.history.Load(); history != nil {
		n += min(len(history.Changes(0)), mostCommits)
	}
	if faults := w.faults.Load(); faults != nil {
		n += faults.AllRequests()
	}
	return n
}

// beat tells from within the bubble that its time passes, until stop is called. It does so ever more rarely, as a year's sleep is
// to cost little, and in the end no more: a bubble in which a timer runs does not see that everybody else in it waits for
// ever. The run fails then, or, where it cannot, the bubble panics.
func (w *watchdog) beat() (stop func()) {
	number := ownBubble()
	w.bubble.Store(&number)
	ended, began := make(chan struct{}), time.Now()
	go func() {
		for past := time.Duration(0); past < w.most; past = time.Since(began) {
			w.beats.Add(1)
			select {
			case <-time.After(max(time.Second, past/100)):
			case <-ended:
				return
			}
		}
		w.off.Store(true)
		if faults := w.faults.Load(); faults != nil {
			faults.Fail("the run does not end: after %s, somebody still waits for what does not come. The user should "+
				"not wait for what processes do, and stop when the context has ended", w.most.Round(time.Hour))
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

// awake are the stacks of the goroutines that do not wait for others of the bubble; all, if there seem to be none. One that
// allocates memory may be out of its bubble for a moment, so it looks again, but not often: all that the process does stops
// while stacks are taken.
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

// goroutinesOf are the stacks of a bubble's goroutines. The runtime has those of all the process, in which there may be many bubbles.
func goroutinesOf(bubble string) (found []string) {
	stacks := make([]byte, 4<<20)
	n := runtime.Stack(stacks, true)
	for n == len(stacks) { // there may be more
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
