package bowlinetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
	"github.com/bowline-dev/bowline/bowlinetest/internal/state"
)

// explorer executes the runs of one Explore.
type explorer struct {
	Scenario
	t      *testing.T
	report *Report

	mu sync.Mutex
	// bases are the outcomes of the runs without faults, keyed by the number of writes after which the user
	// stops; 0 means that the user does not stop.
	bases map[int]*outcome
	tried map[fault.Fault]bool
}

// errNotStarted reports that a run could not start. The test has logged the reason.
var errNotStarted = errors.New("a run of the scenario could not start")

// mostRequests limits the requests per minute of an undisturbed run.
const mostRequests = 10_000

// attempts is the number of attempts for a run that does not reach its fault.
const attempts = 3

// budget returns the lower of two limits, for which 0 means no limit.
func budget(requested, limit int) int {
	if requested == 0 || limit == 0 {
		return requested
	}
	return min(requested, limit)
}

// search executes all runs.
func (e *explorer) search() error {
	began := time.Now()
	defer func() { e.report.Real = time.Since(began) }()
	if e.report.Seed = e.Seed; e.Seed == 0 {
		e.report.Seed = rand.Uint64()
	}
	points, err := e.undisturbed()
	if err != nil || len(e.report.Failures) > 0 {
		return err
	}
	plans := e.plans(points)
	if e.Replay != "" {
		plan, err := fault.Parse(e.Replay)
		if err != nil {
			return fmt.Errorf("cannot repeat a run: %w", err)
		}
		plans = []fault.Plan{plan}
	}
	if err := e.stopped(plans); err != nil || len(e.report.Failures) > 0 {
		return err
	}
	return e.all(plans)
}

// undisturbed executes two runs without faults, whose end states must be equal. It returns the points of
// both.
func (e *explorer) undisturbed() ([]fault.Seen, error) {
	var points []fault.Seen
	known := map[fault.Point]bool{}
	for range 2 {
		o := e.run(fault.Plan{}, mostRequests)
		if o == nil {
			return nil, errNotStarted
		}
		if len(o.problems) == 0 {
			for _, name := range o.idle {
				o.problems = append(o.problems, name+" sent no request to the server, although there was no fault")
			}
		}
		if e.evaluate(o) {
			return nil, nil
		}
		if e.bases[0] == nil {
			e.bases[0] = o
		}
		for _, p := range o.points {
			if !known[p.Point] {
				known[p.Point] = true
				points = append(points, p)
			}
		}
	}
	return points, nil
}

// stopped executes the undisturbed runs to which plans with a stopping user are compared.
func (e *explorer) stopped(plans []fault.Plan) error {
	for _, plan := range plans {
		if e.bases[plan.Stop] != nil {
			continue
		}
		o := e.run(fault.Plan{Stop: plan.Stop}, mostRequests)
		if o == nil {
			return errNotStarted
		}
		if e.evaluate(o) {
			return nil
		}
		e.bases[plan.Stop] = o
	}
	return nil
}

// plans returns the plans to try: each fault alone, and then pairs. If the user writes again after a point,
// each fault is tried with and without these writes, since they may hide the damage.
func (e *explorer) plans(points []fault.Seen) []fault.Plan {
	var plans []fault.Plan
	for _, s := range points {
		if e.Skip != nil && e.Skip(s.Point) {
			continue
		}
		for _, kind := range s.Kinds {
			if e.Faults == nil || slices.Contains(e.Faults, kind) {
				faults := []fault.Fault{{Kind: kind, Point: s.Point}}
				plans = append(plans, fault.Plan{Faults: faults})
				if s.After > 0 && s.After < e.bases[0].writes {
					plans = append(plans, fault.Plan{Faults: faults, Stop: s.After})
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(e.report.Seed, 0))
	plans = append(plans, e.pairs(plans, random)...)
	if e.Budget > 0 && len(plans) > e.Budget {
		random.Shuffle(len(plans), func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })
		plans = plans[:e.Budget]
	}
	return plans
}

// pairs combines faults of two single-fault plans at different points.
func (e *explorer) pairs(single []fault.Plan, random *rand.Rand) (pairs []fault.Plan) {
	elsewhere := func(p fault.Plan) bool { return p.Faults[0].Point != single[0].Faults[0].Point }
	if !slices.ContainsFunc(single, elsewhere) {
		return nil
	}
	for len(pairs) < e.Pairs {
		a, b := single[random.IntN(len(single))].Faults[0], single[random.IntN(len(single))].Faults[0]
		if a.Point != b.Point {
			pairs = append(pairs, fault.Plan{Faults: []fault.Fault{a, b}})
		}
	}
	return pairs
}

// all executes the plans, as many at once as there are processors.
func (e *explorer) all(plans []fault.Plan) error {
	next := make(chan fault.Plan)
	failed := make(chan struct{})
	var workers sync.WaitGroup
	var once sync.Once
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			defer func() { // runs also if a run ended this goroutine
				if e.t.Failed() {
					once.Do(func() { close(failed) })
				}
			}()
			for plan := range next {
				e.try(plan)
			}
		})
	}
	defer workers.Wait()
	defer close(next)
	for _, plan := range plans {
		select {
		case next <- plan:
		case <-failed:
			return errNotStarted
		}
	}
	return nil
}

// try executes a plan, and repeats it if it does not reach its faults.
func (e *explorer) try(plan fault.Plan) {
	var o *outcome
	for range attempts {
		o = e.run(plan, max(1000, 20*e.bases[0].requests))
		if o == nil {
			return
		}
		if e.evaluate(o) || len(o.unreached) == 0 {
			break
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range plan.Faults {
		if !e.tried[f] && !slices.Contains(o.unreached, f) {
			e.tried[f] = true
			e.report.tried(f.Kind)
		}
	}
	if len(o.unreached) > 0 {
		e.report.Unreached = append(e.report.Unreached, plan.String())
	}
}

// evaluate compares a run with the undisturbed one, records it, and reports whether it failed.
func (e *explorer) evaluate(o *outcome) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Runs++
	e.report.Virtual += o.virtual
	if base := e.bases[o.plan.Stop]; base != nil && len(o.problems) == 0 {
		for _, line := range state.Diff(base.end, o.end) {
			o.problems = append(o.problems, "in the end, "+line)
		}
		if len(o.problems) > 0 && len(o.plan.Faults) == 0 {
			o.problems = append(o.problems,
				"two runs without faults differ: remove the differences in Scenario.Compare")
		}
	}
	if len(o.problems) == 0 {
		return false
	}
	e.report.Failures = append(e.report.Failures, newFailure(e.report.Test, o))
	return true
}
