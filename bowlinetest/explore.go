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

// Process is a program that a Scenario runs: the user's own controller, as its main function would run it. It makes what
// clients it likes of config, returns when ctx ends, and is run anew after a crash. It must make all that it needs itself,
// in the bubble of its run: what tests share, a channel or a queue from outside, is no process's.
type Process struct {
	// Name is what reports call it, and the user agent of its clients.
	Name string
	Run  func(ctx context.Context, config *rest.Config) error
}

// State is what there is at a moment of a run: objects, and what is outside of the API.
type State = state.State

// Fault is a kind of fault.
type Fault = fault.Kind

// The faults that Explore tries. What each does is said in docs/explore.md.
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

// Point is where a fault may be: a write, a read or an event of a process.
type Point = fault.Point

// Scenario is what Explore runs, once for each fault. Processes and Act are required. Every run has a plane of its own, in
// virtual time.
type Scenario struct {
	// Options are the plane's: CRDs, Types, Objects and so on. There is no Socket, and the state is always kept in memory.
	Options []Option
	// World makes what there is outside of the API, such as what a controller provisions; processes find it with World.
	World func() any
	// Setup is done before the processes start, if more than Options is needed.
	Setup func(ctx context.Context, config *rest.Config) error
	// Processes are what is tested.
	Processes []Process
	// Act is what users do, and when: its time.Sleep is virtual. It begins a second after the processes have started, and may
	// not count on what they have done by then.
	Act func(ctx context.Context, config *rest.Config) error

	// Settle is how long after Act the end state is looked at; five minutes when it is 0. A process that still changes something
	// in its last quarter never settles, and that is a failure, unless Restless says that it is meant to.
	Settle   time.Duration
	Restless bool
	// Invariants hold after every single write. An error says what is wrong.
	Invariants []func(State) error
	// Snapshot is what the world is compared by, as JSON; nil compares objects alone.
	Snapshot func(world any) any
	// Compare changes the end state before it is compared, and may leave objects out; nil compares all of it. Uids, times,
	// revisions and generated names need no care.
	Compare func(State) State

	// Faults are which to try; nil is all.
	Faults []Fault
	// Skip leaves out points, such as those of a process that is not what is tested; nil leaves out none.
	Skip func(Point) bool
	// Pairs is how many pairs of faults to try in addition to each alone; the seed chooses which.
	Pairs int
	// Budget is how many runs there are at most, and the seed chooses which; 0 is no bound. With the race detector a budget is six at
	// most: each run takes ten times as long, and it sees in a few what it sees in hundreds.
	Budget int
	// Seed is what those choices follow from; 0 takes a new one.
	Seed uint64
	// Replay repeats one run, by what its report calls it. The variable BOWLINE_EXPLORE does the same.
	Replay string

	// Lag is how long what is late is late; 30 seconds when it is 0. Down is how long a process that has crashed takes to
	// start again; 10 seconds when it is 0.
	Lag, Down time.Duration
	// Stuck is how long, in real time, a run may keep virtual time from passing while it writes nothing and its processes ask for
	// nothing; a minute when it is 0. One that does so longer cannot be ended, as when the process loops without end: it ends all tests, and says where it is.
	Stuck time.Duration
}

// Explore runs the processes of a scenario once undisturbed, and then once for each point and each fault that it may have:
// each write with the process crashed before and after it, refused, in conflict, its answer lost, and the process's cache
// behind it; each read stale; each event delayed, doubled and dropped. Each is tried twice: the user goes on, and the user
// does nothing more after it, since what is asked for next may hide what has gone wrong. The test fails when an end state
// differs from that of the undisturbed run, an invariant is broken, a process panics, does not end, leaves goroutines behind,
// undoes somebody else's change unseen, or never settles; and when there was nothing to try. It prints the smallest failing run
// as a trace, and by what to repeat it.
//
// The test must not be in a bubble; Explore makes one for each run, and works on as many at once as there are processors.
// A bubble fixes time but not the order of what goroutines do in the same instant: a point is known by what it is about. One
// that a run did not come by is tried three times, and is then in the report.
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
		t.Errorf("the run %q was not repeated: it did not come by its faults in %d attempts", again, attempts)
	case again == "" && r.Tried() == 0:
		t.Error("no fault was tried: the processes came by no point that Faults and Skip leave, or by none again")
	}
	return r
}

// replay is the one run to repeat, if any.
func (s Scenario) replay() string { return cmp.Or(s.Replay, os.Getenv("BOWLINE_EXPLORE")) }

// Search is Explore for who wants to look at the failures themselves: they do not fail the test. It is nil when a run could
// not begin, which does.
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
	e := &explorer{Scenario: s, t: t, report: &Report{Test: t.Name(), asked: asked, budget: s.Budget}, bases: map[int]*outcome{}, tried: map[fault.Fault]bool{}}
	if err := e.search(); err != nil {
		t.Fatal(err)
	}
	return e.report
}

type worldKey struct{}

// World is what the Scenario's World made for this run; ctx is a process's, Setup's or Act's.
func World[T any](ctx context.Context) T {
	world, ok := ctx.Value(worldKey{}).(T)
	if !ok {
		panic(fmt.Sprintf("the scenario's World made no %T", world))
	}
	return world
}

// Effect does something outside of the API as a process's write: it is a point of Explore, before and after which the process
// may crash. ctx is the process's. A process that has crashed has no more effects: its calls fail. In a program that Explore
// does not run, Effect only calls do.
func Effect(ctx context.Context, name string, do func() error) error {
	return fault.Effect(ctx, name, do)
}
