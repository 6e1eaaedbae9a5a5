package bowlinetest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
	"github.com/bowline-dev/bowline/bowlinetest/internal/state"
)

// Process is a program that a Scenario runs: the user's controller, run the way its main function runs it.
// Run creates any clients it needs from config, returns when ctx ends, and is called again after a crash. It
// must create everything that it uses itself, inside the bubble of its run; it must not use channels, queues
// or timers that runs share.
type Process struct {
	// Name identifies the process in reports, and is the user agent of its clients.
	Name string
	Run  func(ctx context.Context, config *rest.Config) error
}

// State is the state at one point of a run: the objects, and the snapshot of the world outside the API.
type State = state.State

// Fault is a kind of fault.
type Fault = fault.Kind

// The faults that Explore injects. docs/explore.md describes each of them.
const (
	CrashBefore = fault.CrashBefore
	CrashAfter  = fault.CrashAfter
	Refused     = fault.Refused
	Throttled   = fault.Throttled
	Lost        = fault.Lost
	Conflict    = fault.Conflict
	Behind      = fault.Behind
	Stale       = fault.Stale
	Delayed     = fault.Delayed
	Doubled     = fault.Doubled
	Dropped     = fault.Dropped
)

// Point identifies a place where a fault can be injected: a write, a read or an event of a process.
type Point = fault.Point

// Scenario is what Explore runs, once for each fault. Processes and Act are required. Every run has its own
// plane in virtual time.
type Scenario struct {
	// Options are options of the plane, such as CRDs, Types and Objects. Socket is an error. The state is
	// always held in memory.
	Options []Option
	// World creates the state outside the API, such as the resources that a controller provisions, once per
	// run. Processes get it with the function World.
	World func() any
	// Setup runs before the processes start, for preparation that Options cannot express.
	Setup func(ctx context.Context, config *rest.Config) error
	// Processes are the processes under test.
	Processes []Process
	// Act performs the users' actions at their times: its time.Sleep is virtual. It is called one second
	// after the processes have started, and must not rely on the processes having done anything by then.
	Act func(ctx context.Context, config *rest.Config) error

	// Settle is the time between the end of Act and the reading of the end state; the default is five
	// minutes. A process that still writes in the last quarter of that time fails the run, unless Restless is
	// set.
	Settle   time.Duration
	Restless bool
	// Invariants are checked after every commit. An error describes the violation.
	Invariants []func(State) error
	// Snapshot returns a form of the world that is compared as JSON. If it is nil, only objects are compared.
	Snapshot func(world any) any
	// Compare changes the end state before it is compared, and may leave objects out; nil compares
	// everything. UIDs, times, revisions and generated names are normalized anyway.
	Compare func(State) State

	// Faults are the faults to inject; nil means all.
	Faults []Fault
	// Skip leaves out points, such as those of a process that is not under test; nil leaves out none.
	Skip func(Point) bool
	// Pairs is the number of randomly chosen pairs of faults to try in addition to the single faults.
	Pairs int
	// Budget limits the number of runs with faults, which are then chosen at random; 0 means no limit. With
	// the race detector a budget is at most six: each run takes ten times as long, and a few runs find the
	// same races as hundreds.
	Budget int
	// Seed seeds the random choices; 0 picks a new seed.
	Seed uint64
	// Replay repeats one run, given by the text in its report. The environment variable BOWLINE_EXPLORE does
	// the same.
	Replay string

	// Lag is how long delayed events and caches lag behind; the default is 30 seconds. Down is the time
	// between a crash and the restart of the process; the default is 10 seconds.
	Lag, Down time.Duration
	// Stuck is the real time after which a run is stuck if virtual time does not advance, nothing is
	// committed and processes send no requests; the default is one minute. A stuck run, such as an endless
	// loop in a process, cannot be ended. The test binary then ends with a panic that shows the blocking
	// goroutines.
	Stuck time.Duration
}

// Explore runs the processes of a scenario first undisturbed, and then once for each point and each fault
// that applies there. Writes: a crash before or after the write, a refusal, throttling, a conflict, a lost
// response, and a cache that lags behind the write. Reads: a stale result. Events: a delay, a duplicate, a
// loss. If the user writes after the point, each fault is tried with and without these later writes, since
// they may hide the damage.
//
// The test fails if an end state differs from that of the undisturbed run, or an invariant is violated. It
// also fails if a process panics, does not return, leaks goroutines, overwrites another client's change that
// it has not read, or never stops writing, and if no fault could be tried. Explore logs a report, and prints
// the shortest failing run as a trace with the command that repeats it. It returns the report. A run that
// cannot start ends the test.
//
// The test must not be in a bubble: Explore creates one for each run, and executes as many runs at once as
// there are processors. A bubble makes time deterministic but not the order of goroutines within one instant,
// so a point is identified by its content rather than by its position. If a run does not reach its point, it
// is attempted three times in all; the report lists it if it never did.
func Explore(t *testing.T, s Scenario) *Report {
	t.Helper()
	r := Search(t, s)
	if r == nil {
		return nil
	}
	t.Log(r)
	switch f, again := r.Smallest(), s.replay(); {
	case f != nil:
		t.Errorf("%d of %d runs failed, seed %d. The smallest:\n%s", len(r.Failures), r.Runs, r.Seed, f)
	case again != "" && len(r.Unreached) > 0:
		t.Errorf("the run %q was not repeated: it did not reach its fault points in %d attempts", again, attempts)
	case again == "" && r.Tried() == 0:
		t.Error("no fault was injected: the processes reached no fault point that Faults and Skip permit, or none " +
			"twice")
	}
	return r
}

// replay returns the run to repeat, or "".
func (s Scenario) replay() string { return cmp.Or(s.Replay, os.Getenv("BOWLINE_EXPLORE")) }

// Search does the same as Explore but does not fail the test if runs fail, for callers that examine the
// failures. A run that cannot start ends the test.
func Search(t *testing.T, s Scenario) *Report {
	t.Helper()
	s.Replay = s.replay()
	if s.Act == nil || len(s.Processes) == 0 {
		t.Fatal("a Scenario needs Processes and Act")
	}
	asked := s.Budget
	s.Budget = budget(asked, mostRaced)
	s.Settle = cmp.Or(s.Settle, 5*time.Minute)
	s.Lag = cmp.Or(s.Lag, 30*time.Second)
	s.Down = cmp.Or(s.Down, 10*time.Second)
	s.Stuck = cmp.Or(s.Stuck, time.Minute)
	e := &explorer{Scenario: s, t: t, report: &Report{Test: t.Name(), asked: asked, budget: s.Budget},
		bases: map[int]*outcome{}, tried: map[fault.Fault]bool{}}
	if err := e.search(); err != nil {
		t.Fatal(err)
	}
	return e.report
}

type worldKey struct{}

// World returns the value that the World function of the Scenario created for this run. ctx is the context of
// a process, Setup or Act. World panics if the value is not a T.
func World[T any](ctx context.Context) T {
	world, ok := ctx.Value(worldKey{}).(T)
	if !ok {
		panic(fmt.Sprintf("the scenario's World made no %T", world))
	}
	return world
}

// Effect calls do, a side effect outside the API, as a write of the process: it is a point for Explore,
// before or after which the process may crash. ctx is the context of the process. After a crash, calls fail
// without calling do. In a program that Explore does not run, Effect only calls do.
func Effect(ctx context.Context, name string, do func() error) error {
	return fault.Effect(ctx, name, do)
}
