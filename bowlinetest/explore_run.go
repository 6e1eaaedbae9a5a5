package bowlinetest

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
	"github.com/bowline-dev/bowline/bowlinetest/internal/state"
)

// outcome is the result of one run.
type outcome struct {
	plan      fault.Plan
	points    []fault.Seen
	unreached []fault.Fault
	rows      []fault.Row
	problems  []string
	end       state.Normal
	requests  int      // in the busiest minute
	idle      []string // processes that sent no request
	writes    int      // of the user
	virtual   time.Duration
	real      time.Duration
}

// run executes one run in its own bubble. The result is nil if the run could not start; the test has failed
// then.
func (e *explorer) run(plan fault.Plan, mostRequests int) (o *outcome) {
	began := time.Now()
	w := e.watchdog(plan)
	defer close(w.ended)
	defer func() {
		if o != nil {
			o.real = time.Since(began)
		}
		if v := recover(); v != nil {
			e.deadlock(w, o, v)
		}
	}()
	synctest.Test(e.t, func(t *testing.T) {
		defer w.beat()()
		o = e.inBubble(t, w, mostRequests)
	})
	return o
}

// deadlock handles the panic of synctest when goroutines of a bubble wait forever. It adds a problem to the
// run's outcome. If the run has no outcome because its own goroutine is blocked too, it fails the test. Other
// panics continue.
func (e *explorer) deadlock(w *watchdog, o *outcome, v any) {
	text := fmt.Sprint(v)
	switch {
	case o != nil && strings.Contains(text, "blocked goroutines remain"):
		o.problems = append(o.problems, "leaked goroutines:\n"+strings.Join(goroutinesOf(*w.bubble.Load()),
			"\n\n"))
	case o == nil && strings.Contains(text, "all goroutines in bubble are blocked"):
		e.t.Fatalf("deadlock in the run %q: all goroutines are blocked. They are:\n%s",
			w.plan, strings.Join(goroutinesOf(*w.bubble.Load()), "\n\n"))
	default:
		panic(v)
	}
}

// exploration is a run in progress.
type exploration struct {
	*explorer
	faults *fault.Run
	plane  *Plane
	server state.Server
	system any             // of Scenario.ExternalSystem
	ctx    context.Context // has the value system
}

func (e *explorer) inBubble(t *testing.T, w *watchdog, mostRequests int) *outcome {
	began := time.Now()
	history := fault.NewHistory()
	w.history.Store(history)
	p := &Plane{test: t, settings: settingsOf(e.Options), resources: newResources(nil)}
	p.settings.bubble = true
	o := bowline.Options{Logger: slog.New(slog.DiscardHandler)}
	p.applyOptions(t, &o)
	if o.Storage != nil {
		if err := o.Storage.Close(); err != nil {
			t.Errorf("closing the Storage of With, which Explore does not use: %v", err)
		}
	}
	o.Storage = history
	var err error
	if p.Plane, err = bowline.Start(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	x := &exploration{explorer: e, plane: p, ctx: t.Context()}
	config := p.RESTConfig()
	x.server.RoundTripper = config.Transport
	if e.Scenario.ExternalSystem != nil {
		x.system = e.Scenario.ExternalSystem()
		x.ctx = context.WithValue(x.ctx, externalKey{}, x.system)
	}
	p.setUp(t)
	if e.Setup != nil {
		if err := e.Setup(x.ctx, config); err != nil {
			t.Fatalf("setting the scenario up: %v", err)
		}
	}
	x.faults = fault.NewRun(fault.Options{
		Plan: w.plan, History: history, Next: config.Transport, Lag: e.Lag, Down: e.Down, MostRequests: mostRequests,
	})
	w.faults.Store(x.faults)
	result := x.do(t)
	result.virtual = time.Since(began)
	return result
}

// do starts the processes, calls Act, waits, and reads the end state.
func (x *exploration) do(t *testing.T) *outcome {
	ctx, cancel := context.WithCancel(x.ctx)
	checked := x.check(ctx)
	var processes []*fault.Process
	for _, p := range x.Processes {
		processes = append(processes, x.faults.Start(ctx, p.Name, p.Run))
	}
	acted := x.act(ctx)
	actEnd := time.Now()
	x.sleep(x.Settle)
	if last := x.faults.LastWrite(); !x.PeriodicWrites && time.Since(last) < x.Settle/4 && last.After(actEnd) {
		x.faults.Fail("never settles: the state still changes %s after the user's last step",
			last.Sub(actEnd).Round(time.Second))
	}
	synctest.Wait()
	o := x.outcome()
	for _, p := range processes {
		if p.Idle() {
			o.idle = append(o.idle, p.Name())
		}
		p.Stop()
	}
	for _, p := range processes {
		p.Wait()
	}
	cancel()
	close(x.faults.Ended)
	x.await(acted, "the user's code")
	x.await(checked, "an invariant")
	time.Sleep(time.Minute) // gives goroutines that are about to end the time to do so
	o.problems = x.faults.Problems()
	o.rows = x.faults.Rows()
	if err := x.plane.Close(); err != nil {
		t.Errorf("closing the plane: %v", err)
	}
	return o
}

// await waits at most a minute for a goroutine whose context has ended.
func (x *exploration) await(done chan struct{}, what string) {
	select {
	case <-done:
	case <-time.After(time.Minute):
		x.faults.Fail("%s has not returned a minute after its context was canceled", what)
	}
}

// sleep waits for d or until the run fails.
func (x *exploration) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-x.faults.Failed:
	}
}

// act starts Act, with a client without faults, and returns when it has returned, when the
// plan stops the user, or when the run has failed. The channel is closed when Act has returned.
func (x *exploration) act(ctx context.Context) (acted chan struct{}) {
	x.sleep(time.Second)
	config := rest.CopyConfig(x.plane.RESTConfig())
	config.UserAgent = "user"
	config.Transport = x.faults.User()
	acted = make(chan struct{})
	go func() {
		defer close(acted)
		defer x.guard("the user's code")
		if err := x.Act(ctx, config); err != nil && ctx.Err() == nil {
			x.faults.Fail("the user's code failed: %v", err)
		}
	}()
	select {
	case <-acted:
	case <-x.faults.Stopped:
	case <-x.faults.Failed:
	}
	return acted
}

// outcome reads the end state.
func (x *exploration) outcome() *outcome {
	o := &outcome{
		plan: x.faults.Plan, points: x.faults.Seen(), unreached: x.faults.Unreached(),
		requests: x.faults.Requests(), writes: x.faults.Writes(),
	}
	if len(x.faults.Problems()) > 0 {
		return o // the run ended early
	}
	s, err := x.state()
	if err == nil && x.Compare != nil {
		s = x.Compare(s)
	}
	if err == nil {
		o.end, err = state.Normalise(s, state.Names{UIDs: x.faults.History.UIDs(), Generated: x.faults.Generated()})
	}
	if err != nil {
		x.faults.Fail("reading the end state: %v", err)
	}
	return o
}

// ownBubble returns the number of the calling goroutine's bubble, as stack traces print it.
func ownBubble() string {
	stack := make([]byte, 200)
	m := bubbleText.FindSubmatch(stack[:runtime.Stack(stack, false)])
	if m == nil {
		return ""
	}
	return string(m[1])
}

var bubbleText = regexp.MustCompile(`synctest bubble (\d+)\]`)
