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

// Process is a program that a Scenario runs, such as the controller under test.
type Process struct {
	// Name identifies the process in reports, and is the user agent of its clients.
	Name string
	// Run does what the main function of the program does. It creates its clients from config and returns when ctx
	// ends. Explore calls it once per run, and again after a crash. Runs are concurrent and each has its own bubble, so
	// Run must create all channels, locks, queues and timers that it uses. An error fails the run.
	Run func(ctx context.Context, config *rest.Config) error
}

// State is the state at one point of a run: the objects, and the state of the external system.
type State = state.State

// Fault is a kind of fault, such as CrashBefore.
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

// Point identifies an operation at which a fault can be injected: a write, a read or an event of a process.
type Point = fault.Point

// Scenario describes the runs of Explore. Processes and Act are required. Every run has its own plane, in memory and in
// virtual time, and runs are concurrent, so the functions must not share state between runs.
type Scenario struct {
	// Options are options of the plane, such as CRDs, Types and Objects. Explore fails with the option Socket. It
	// closes a Storage that With sets, and uses its own.
	Options []Option
	// ExternalSystem creates a simulation of the system outside the API that the processes use, such as a cloud in
	// which they create machines, once per run. The function ExternalSystem returns it to them. It must be safe for
	// concurrent use if the processes are concurrent. Nil means none.
	ExternalSystem func() any
	// Setup runs before the processes start, for preparation that Options cannot express. An error ends the test.
	Setup func(ctx context.Context, config *rest.Config) error
	// Processes are the processes under test.
	Processes []Process
	// Act performs the users' actions at their times: its time.Sleep is virtual. It is called one second
	// after the processes have started, and must not wait for effects of the processes, which may have crashed. An
	// error fails the run.
	Act func(ctx context.Context, config *rest.Config) error

	// Settle is the virtual time between the end of Act and the reading of the end state; the default is five
	// minutes. If a process still writes in the last quarter of that time, the run fails.
	Settle time.Duration
	// PeriodicWrites permits processes that never stop writing, for example to poll an external system: a run
	// then does not fail because of writes at the end of Settle.
	PeriodicWrites bool
	// Invariants are checked after every commit. An error describes the violation and fails the run. The State does not
	// contain pods that were marked as deleted and that nothing holds: the server removes them with its next commit.
	Invariants []func(State) error
	// ExternalState returns the state of the external system, which is compared as JSON and passed to Invariants in
	// State.External. If it is nil, only objects are compared.
	ExternalState func(system any) any
	// Compare returns the part of the end state to compare, for example without objects that vary between runs. It may
	// modify its argument. Nil compares everything. UIDs, times, revisions and generated names are always normalized.
	Compare func(State) State

	// Faults are the kinds of faults to inject; nil means all.
	Faults []Fault
	// Skip reports whether to inject no faults at a point, such as one of a process that is not under test. Nil skips
	// none.
	Skip func(Point) bool
	// Pairs is the number of randomly chosen pairs of faults to try in addition to the single faults.
	Pairs int
	// Budget is the maximum number of runs with faults, which are then chosen at random; 0 means no limit. With
	// the race detector, a budget of more than six counts as six: each run takes ten times as long, and a few runs find
	// the same races as hundreds.
	Budget int
	// Seed seeds the random choices; 0 means a random seed.
	Seed uint64
	// Replay is the text of a Failure.Replay or an element of Report.Unreached. If it is set, Explore executes only
	// that run with faults. The environment variable BOWLINE_EXPLORE does the same.
	Replay string

	// Lag is the virtual time by which delayed events and stale caches lag behind; the default is 30 seconds. Down is
	// the virtual time between a crash and the restart of the process; the default is 10 seconds.
	Lag, Down time.Duration
	// Stuck is the real time without progress after which a run is stuck: virtual time does not advance, nothing is
	// committed and processes send no requests. The default is one minute. A stuck run, for example because of an
	// endless loop in a process, cannot be ended. The test binary then panics and prints the blocking goroutines.
	Stuck time.Duration
}

// Explore runs the processes of a scenario first without faults, and then once for each point and each fault that
// applies to it. For writes, those are a crash before or after the write, a rejection, throttling, a conflict, a lost
// response, and a cache that lags behind the write; for reads, a stale result; for events, a delay, a duplicate and a
// loss. If the user writes after the point, each fault is tried with and without these later writes, since they may
// hide the damage.
//
// The test fails if an end state differs from that of the run without faults, or an invariant is violated. It
// also fails if a process panics, does not return, leaks goroutines, overwrites another client's change that
// it has not read, or never stops writing, and if no fault could be tried. Explore logs a report, and prints
// the shortest failing run as a trace with the command that repeats it. It returns the report. A run that
// cannot start ends the test.
//
// The test must not be in a bubble: Explore creates one for each run, and executes as many runs at a time as
// there are processors. A bubble makes time deterministic but not the order of goroutines within one instant,
// so a point is identified by its content rather than by its position. A run that does not reach its point is
// attempted up to three times; if none reaches it, the report lists the run as unreached.
func Explore(t *testing.T, s Scenario) *Report {
	t.Helper()
	r := Search(t, s)
	t.Log(r)
	switch f, replay := r.Smallest(), s.replay(); {
	case f != nil:
		t.Errorf("%d of %d runs failed, seed %d. The smallest:\n%s", len(r.Failures), r.Runs, r.Seed, f)
	case replay != "" && len(r.Unreached) > 0:
		t.Errorf("the run %q was not repeated: it did not reach its fault points in %d attempts", replay, attempts)
	case replay == "" && r.Tried() == 0:
		t.Error("no fault was injected: no process reached the same point that Faults and Skip permit in the run " +
			"without faults and in a run with one")
	}
	return r
}

// replay returns the run to repeat, or "".
func (s Scenario) replay() string { return cmp.Or(s.Replay, os.Getenv("BOWLINE_EXPLORE")) }

// Search is like Explore but neither logs the report nor fails the test if runs fail, for callers that examine the
// failures. A run that cannot start ends the test.
func Search(t *testing.T, s Scenario) *Report {
	t.Helper()
	s.Replay = s.replay()
	if s.Act == nil || len(s.Processes) == 0 {
		t.Fatal("a Scenario needs Processes and Act")
	}
	requested := s.Budget
	s.Budget = budget(requested, maxRaceBudget)
	s.Settle = cmp.Or(s.Settle, 5*time.Minute)
	s.Lag = cmp.Or(s.Lag, 30*time.Second)
	s.Down = cmp.Or(s.Down, 10*time.Second)
	s.Stuck = cmp.Or(s.Stuck, time.Minute)
	e := &explorer{Scenario: s, t: t, report: &Report{Test: t.Name(), requested: requested, budget: s.Budget},
		bases: map[int]*outcome{}, tried: map[fault.Fault]bool{}}
	if err := e.search(); err != nil {
		t.Fatal(err)
	}
	return e.report
}

// externalKey is the context key of the external system of a run.
type externalKey struct{}

// ExternalSystem returns the value that Scenario.ExternalSystem created for this run. ctx must be derived from the
// context of a process, Setup or Act. ExternalSystem panics if the value is not a T.
func ExternalSystem[T any](ctx context.Context) T {
	value := ctx.Value(externalKey{})
	system, ok := value.(T)
	if !ok {
		panic(fmt.Sprintf("Scenario.ExternalSystem returned a %T, want a %T", value, system))
	}
	return system
}

// Effect calls do, a write to the external system, and returns its error. It is a point of Explore, like a write to the
// API: the process may crash before or after it, or the effect may fail. ctx must be derived from the context of the
// process. After a crash, Effect returns an error without calling do. In a program that Explore does not run, Effect
// only calls do.
func Effect(ctx context.Context, name string, do func() error) error {
	return fault.Effect(ctx, name, do)
}
