package bowlinetest

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
)

// Report is the result of Explore or Search.
type Report struct {
	// Test is the name of the test.
	Test string
	// Seed is the seed of the random choices.
	Seed uint64
	// Runs is the number of all runs. Points has the number of points that were tried, by kind of fault.
	Runs   int
	Points map[Fault]int
	// Unreached lists the runs that did not reach their points, in the form that Scenario.Replay accepts.
	Unreached []string
	// Failures lists the runs that failed, in no order.
	Failures []*Failure
	// Virtual is the sum of the runs' virtual times, Real the real time that Explore or Search took.
	Virtual, Real time.Duration

	// requested is the scenario's budget, budget the one in force.
	requested, budget int
}

func (r *Report) tried(kind Fault) {
	if r.Points == nil {
		r.Points = map[Fault]int{}
	}
	r.Points[kind]++
}

// Tried returns the number of points that were tried, over all kinds of faults.
func (r *Report) Tried() int {
	n := 0
	for _, points := range r.Points {
		n += points
	}
	return n
}

// Smallest returns the failure with the fewest Steps, or nil if there is none.
func (r *Report) Smallest() *Failure {
	if len(r.Failures) == 0 {
		return nil
	}
	return slices.MinFunc(r.Failures, func(a, b *Failure) int {
		return cmp.Or(cmp.Compare(a.Steps, b.Steps), cmp.Compare(a.order(), b.order()), cmp.Compare(a.Replay, b.Replay))
	})
}

// String returns a summary of the report in a few lines.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "explored %d fault points in %d runs, %d of them failed: %s of virtual time in %s, seed %d",
		r.Tried(), r.Runs, len(r.Failures), r.Virtual.Round(time.Minute), r.Real.Round(time.Millisecond), r.Seed)
	if r.budget < r.requested {
		fmt.Fprintf(&b, "\n  the budget of %d runs is limited to %d by the race detector", r.requested, r.budget)
	}
	for _, kind := range fault.Kinds() {
		if n := r.Points[kind]; n > 0 {
			fmt.Fprintf(&b, "\n  %4d %s", n, kind)
		}
	}
	if len(r.Unreached) > 0 {
		fmt.Fprintf(&b, "\n  %4d runs did not reach their fault points in %d attempts, such as %s",
			len(r.Unreached), attempts, r.Unreached[0])
	}
	return b.String()
}

// Failure describes a run that failed.
type Failure struct {
	// Replay is the value of Scenario.Replay, or of BOWLINE_EXPLORE, that repeats the run.
	Replay string
	// Kinds are the kinds of the run's faults; it is empty for a run without faults.
	Kinds []Fault
	// Problems describes each cause of the failure, in one line, or in several if there is a stack.
	Problems []string
	// Steps is the number of rows in the trace.
	Steps int

	test string
	rows []fault.Row
}

func newFailure(test string, o *outcome) *Failure {
	f := &Failure{Replay: o.plan.String(), Problems: o.problems, Steps: len(o.rows), test: test, rows: o.rows}
	for _, fault := range o.plan.Faults {
		f.Kinds = append(f.Kinds, fault.Kind)
	}
	return f
}

// order ranks failures with traces of the same length by their first kind of fault.
func (f *Failure) order() int {
	if len(f.Kinds) == 0 {
		return -1
	}
	return slices.Index(fault.Kinds(), f.Kinds[0])
}

// Limits on what a failure prints.
const (
	maxRows     = 40
	maxProblems = 12
)

// Trace returns a table of the users' actions, the processes' writes, and the faults of the run. It omits the
// middle of a long run.
func (f *Failure) Trace() string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, row := range f.rows {
		if left := len(f.rows) - maxRows; left > 0 && i >= maxRows/2 && i < maxRows/2+left {
			if i == maxRows/2 {
				fmt.Fprintf(w, "\t\t... %d more\t\t\n", left)
			}
			continue
		}
		mark := ""
		if row.Fault != "" {
			mark = "<- " + string(row.Fault)
		}
		fmt.Fprintf(w, "%.3fs\t%s\t%s\t%s\t%s\n", row.At.Seconds(), row.Who, row.What, row.Answer, mark)
	}
	w.Flush() // to memory
	return lineEnd.ReplaceAllString(b.String(), "\n")
}

var lineEnd = regexp.MustCompile(` +\n`)

// String returns the trace, the problems, and the command that repeats the run.
func (f *Failure) String() string {
	var b strings.Builder
	for line := range strings.Lines(f.Trace()) {
		b.WriteString("    " + line)
	}
	for i, problem := range f.Problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "  ... and %d more\n", len(f.Problems)-i)
			break
		}
		b.WriteString("  " + problem + "\n")
	}
	fmt.Fprintf(&b, "  repeat: BOWLINE_EXPLORE='%s' go test -run '^%s$'", f.Replay,
		strings.ReplaceAll(f.test, "/", "$/^"))
	return b.String()
}
