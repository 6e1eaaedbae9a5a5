package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/bowline-dev/bowline/internal/why"
)

// deepest is how far the tree of runs is indented. What follows from the runs there stands below each other.
const deepest = 8

// whyTree are runs, each below the one that led to it.
type whyTree struct {
	to       terminal
	report   *why.Report
	byID     map[string]*why.Run
	children map[string][]*why.Run
	err      error
}

// printWhy prints a report for people.
func printWhy(to terminal, report *why.Report) error {
	t := &whyTree{to: to, report: report, byID: map[string]*why.Run{}, children: map[string][]*why.Run{}}
	if report.Object != (why.Object{}) {
		t.line("", to.in(strong, report.Object.String()))
	}
	for _, l := range report.Loops {
		t.loop(l)
	}
	if len(report.Runs) == 0 {
		t.line("", nothingKnown(report.Object))
	}
	for _, root := range t.grow() {
		t.line("", "")
		t.root(root)
	}
	return t.err
}

// grow puts each run below the last of those that led to it, and returns those that none did.
func (t *whyTree) grow() (roots []*why.Run) {
	for k := range t.report.Runs {
		run := &t.report.Runs[k]
		parent := ""
		for _, id := range run.After {
			if t.byID[id] != nil { // runs come after those that led to them
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

func (t *whyTree) line(prefix, text string) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.to, strings.TrimRight(t.to.in(faint, prefix)+text, " "))
	}
}

func (t *whyTree) loop(l why.Loop) {
	how := fmt.Sprintf("at least %d times in %s, last %s", l.Times, took(l.Last.Sub(l.First)), t.ago(l.Last))
	t.line("", t.to.in(red, "HOT LOOP")+"  "+l.String()+" ("+how+")")
}

// root prints a run that nothing known led to, and what it led to.
func (t *whyTree) root(run *why.Run) {
	t.line("", t.head(run, t.ago(run.Start)))
	t.body(run, "", 0)
}

// body prints what a run did, and then the runs that it led to. The prefix is drawn before each line.
func (t *whyTree) body(run *why.Run, prefix string, depth int) {
	children := t.below(run, depth)
	bar := "  "
	if len(children) > 0 {
		bar = "│ "
	}
	for _, detail := range t.details(run) {
		t.line(prefix+bar, detail)
	}
	for k, child := range children {
		corner, under := "├─ ", "│  "
		if k == len(children)-1 {
			corner, under = "└─ ", "   "
		}
		t.line(prefix+corner, t.head(child, "+"+took(max(child.Start.Sub(run.Start), 0))))
		t.body(child, prefix+under, depth+1)
	}
}

// below are the runs to print under one: what it led to or, at the deepest, all that followed.
func (t *whyTree) below(run *why.Run, depth int) []*why.Run {
	switch {
	case depth == deepest:
		return nil // its parent has them
	case depth < deepest-1:
		return t.children[run.ID]
	}
	all := slices.Clone(t.children[run.ID])
	for k := 0; k < len(all); k++ {
		all = append(all, t.children[all[k].ID]...)
	}
	slices.SortStableFunc(all, func(a, b *why.Run) int { return a.Start.Compare(b.Start) })
	return all
}

// head is the first line of a run: when, who, and how it went.
func (t *whyTree) head(run *why.Run, when string) string {
	text := t.to.in(faint, when) + "  " + t.to.in(strong, run.Controller)
	if subject := t.subject(run); subject != "" {
		text += " for " + subject
	}
	text += "  took " + took(run.Duration)
	switch {
	case run.Err != "":
		text += "  " + t.to.in(red, "failed")
	case len(run.Writes)+len(run.Acts) == 0:
		text += "  " + t.to.in(faint, "nothing to do")
	}
	if run.Times > 1 {
		text += fmt.Sprintf("  %d times since %s", run.Times, t.ago(run.First))
	}
	return text
}

// subject is what a run looked at, when it is another object than the one that is asked about.
func (t *whyTree) subject(run *why.Run) string {
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

// ago is a time as it is long past.
func (t *whyTree) ago(then time.Time) string {
	since := t.report.Now.Sub(then)
	if since < time.Second {
		return "just now"
	}
	return duration.HumanDuration(since) + " ago"
}

// took is how long something took, in two or three digits.
func took(d time.Duration) string {
	switch {
	case d >= time.Minute:
		text := d.Round(time.Second).String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		return text
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
