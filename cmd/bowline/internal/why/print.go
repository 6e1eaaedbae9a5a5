package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/why"
)

// maxDepth limits the indentation of the tree. Runs below it are printed as a flat list.
const maxDepth = 8

// tree prints runs, each below the run that caused it.
type tree struct {
	to       terminal.Terminal
	report   *why.Report
	byID     map[string]*why.Run
	children map[string][]*why.Run
	err      error
}

// printReport prints a report as text.
func printReport(to terminal.Terminal, report *why.Report) error {
	t := &tree{to: to, report: report, byID: map[string]*why.Run{}, children: map[string][]*why.Run{}}
	if report.Object != (why.Object{}) {
		t.line("", to.Color(terminal.Bold, terminal.Sprintf("%s", report.Object)))
	}
	for _, l := range report.Loops {
		t.loop(l)
	}
	if len(report.Runs) == 0 {
		t.line("", noRunsMessage(report.Object))
	}
	for _, root := range t.build() {
		t.line("", "")
		t.printRoot(root)
	}
	return t.err
}

// build adds each run to the children of the last run that caused it, and returns the runs without a known
// cause.
func (t *tree) build() (roots []*why.Run) {
	for k := range t.report.Runs {
		run := &t.report.Runs[k]
		parent := ""
		for _, id := range run.After {
			if t.byID[id] != nil { // the report lists causes before their effects
				parent = id
			}
		}
		t.byID[run.ID] = run
		if parent == "" {
			roots = append(roots, run)
		} else {
			t.children[parent] = append(t.children[parent], run)
		}
	}
	return roots
}

func (t *tree) line(prefix, text terminal.Text) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.to, strings.TrimRight(string(t.to.Color(terminal.Faint, prefix)+text), " "))
	}
}

func (t *tree) loop(l why.Loop) {
	how := terminal.Sprintf("at least %d times in %s, last %s", l.Times, terminal.FormatDuration(l.Last.Sub(l.First)),
		t.elapsed(l.Last))
	t.line("", terminal.Sprintf("%s  %s (%s)", t.to.Color(terminal.Red, "HOT LOOP"), l.String(), how))
}

// printRoot prints a run without a known cause, and all runs below it.
func (t *tree) printRoot(run *why.Run) {
	t.line("", t.head(run, t.elapsed(run.Start)))
	t.printRun(run, "", 0)
}

// printRun prints the details of a run and then its children. The prefix starts each line.
func (t *tree) printRun(run *why.Run, prefix terminal.Text, depth int) {
	children := t.childrenOf(run, depth)
	bar := terminal.Text("  ")
	if len(children) > 0 {
		bar = "│ "
	}
	for _, detail := range t.details(run) {
		t.line(prefix+bar, detail)
	}
	for k, child := range children {
		corner, under := terminal.Text("├─ "), terminal.Text("│  ")
		if k == len(children)-1 {
			corner, under = "└─ ", "   "
		}
		t.line(prefix+corner, t.head(child, "+"+terminal.FormatDuration(max(child.Start.Sub(run.Start), 0))))
		t.printRun(child, prefix+under, depth+1)
	}
}

// childrenOf returns the runs to print below a run: its children or, at the maximum depth, all its
// descendants ordered by start time.
func (t *tree) childrenOf(run *why.Run, depth int) []*why.Run {
	switch {
	case depth == maxDepth:
		return nil // already printed as children of the parent
	case depth < maxDepth-1:
		return t.children[run.ID]
	}
	all := slices.Clone(t.children[run.ID])
	for k := 0; k < len(all); k++ {
		all = append(all, t.children[all[k].ID]...)
	}
	slices.SortStableFunc(all, func(a, b *why.Run) int { return a.Start.Compare(b.Start) })
	return all
}

// head returns the first line of a run: the time, the controller, and the result.
func (t *tree) head(run *why.Run, when string) terminal.Text {
	text := t.to.Color(terminal.Faint, terminal.Sprintf("%s", when)) + "  " +
		t.to.Color(terminal.Bold, terminal.Sprintf("%s", run.Controller))
	if subject := t.subject(run); subject != "" {
		text += terminal.Sprintf(" for %s", subject)
	}
	text += terminal.Sprintf("  took %s", terminal.FormatDuration(run.Duration))
	switch {
	case run.Err != "":
		text += "  " + t.to.Color(terminal.Red, "failed")
	case len(run.Writes)+len(run.Acts) == 0:
		text += "  " + t.to.Color(terminal.Faint, "nothing to do")
	}
	if run.Times > 1 {
		text += terminal.Sprintf("  %d times since %s", run.Times, t.elapsed(run.First))
	}
	return text
}

// subject returns the object of a run, or an empty string for the object of the report.
func (t *tree) subject(run *why.Run) string {
	switch {
	case run.Object == t.report.Object:
		return ""
	case strings.HasPrefix(run.Object.String(), run.Controller+"/"):
		return strings.TrimPrefix(run.Object.String(), run.Controller+"/")
	case run.Object.Resource != "":
		return run.Object.String()
	case run.Object.Namespace != "":
		return run.Object.Namespace + "/" + run.Object.Name
	}
	return run.Object.Name
}

// elapsed returns the time elapsed since then, in words.
func (t *tree) elapsed(then time.Time) string {
	since := t.report.Now.Sub(then)
	if since < time.Second {
		return "just now"
	}
	return duration.HumanDuration(since) + " ago"
}
