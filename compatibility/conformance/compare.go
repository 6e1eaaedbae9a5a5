package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/onsi/ginkgo/v2/types"
)

// comparison is the result of a run.
type comparison struct {
	Groups []*group `json:"groups"`
	// Failed are the specs that failed and are not listed, and Passed those that passed although they are listed.
	Failed []spec   `json:"failed,omitempty"`
	Passed []string `json:"passedUnexpectedly,omitempty"`
	// Unknown are the listed specs that the suite does not have.
	Unknown []string `json:"unknown,omitempty"`
	// Skipped are the specs that skipped themselves, with the reason.
	Skipped []spec `json:"skipped,omitempty"`
}

// group counts the specs of a special interest group.
type group struct {
	SIG  string `json:"sig"`
	Ran  int    `json:"ran"`
	Pass int    `json:"passed"`
	// ExpectedFailures failed and are listed; Failures are not listed; UnexpectedPasses are listed and passed.
	ExpectedFailures int `json:"expectedFailures"`
	Failures         int `json:"failures"`
	UnexpectedPasses int `json:"unexpectedPasses"`
	Skipped          int `json:"skipped"`
	// NeedContainer are listed because they need a container that runs, and were not run.
	NeedContainer int `json:"notRunNeedContainer"`
}

var sig = regexp.MustCompile(`\[(sig-[a-z-]+)\]`)

// compare compares the specs with the list of those that are expected to fail. Specs outside of focus did not run.
func compare(specs []spec, expected map[string]string, focus *regexp.Regexp) *comparison {
	c := &comparison{}
	groups, known := map[string]*group{}, map[string]bool{}
	for _, s := range specs {
		known[s.Name] = true
		name := ""
		if match := sig.FindStringSubmatch(s.Name); match != nil {
			name = match[1]
		}
		if groups[name] == nil {
			groups[name] = &group{SIG: name}
		}
		reason, listed := expected[s.Name]
		c.add(groups[name], s, listed, strings.HasPrefix(reason, needsContainer) && focus.MatchString(s.Name))
	}
	for name := range maps.Keys(expected) {
		if !known[name] {
			c.Unknown = append(c.Unknown, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if g := groups[name]; g.Ran+g.NeedContainer > 0 {
			c.Groups = append(c.Groups, g)
		}
	}
	slices.Sort(c.Unknown)
	slices.Sort(c.Passed)
	slices.SortFunc(c.Failed, func(a, b spec) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(c.Skipped, func(a, b spec) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// add counts a spec in its group.
func (c *comparison) add(g *group, s spec, listed, container bool) {
	if !s.Ran {
		if container {
			g.NeedContainer++
		}
		return
	}
	g.Ran++
	switch {
	case s.State == types.SpecStateSkipped || s.State == types.SpecStatePending:
		g.Skipped++
		c.Skipped = append(c.Skipped, s)
	case s.State == types.SpecStatePassed && listed:
		g.UnexpectedPasses++
		c.Passed = append(c.Passed, s.Name)
	case s.State == types.SpecStatePassed:
		g.Pass++
	case listed:
		g.ExpectedFailures++
	default:
		g.Failures++
		c.Failed = append(c.Failed, s)
	}
}

// err describes what is not as expected.
func (c *comparison) err() error {
	if len(c.Failed)+len(c.Passed)+len(c.Unknown) == 0 {
		return nil
	}
	return fmt.Errorf("%d specs failed unexpectedly, %d passed although expected.txt lists them, "+
		"and %d in expected.txt do not exist", len(c.Failed), len(c.Passed), len(c.Unknown))
}

// print prints a table of the groups, and what is not as expected.
func (c *comparison) print(out io.Writer) error {
	sum := &group{SIG: "all"}
	for _, g := range c.Groups {
		sum.Ran += g.Ran
		sum.Pass += g.Pass
		sum.ExpectedFailures += g.ExpectedFailures
		sum.Failures += g.Failures
		sum.UnexpectedPasses += g.UnexpectedPasses
		sum.Skipped += g.Skipped
		sum.NeedContainer += g.NeedContainer
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "SIG\tRUN\tPASSED\tFAILED AS EXPECTED\tFAILED\tPASSED ALTHOUGH LISTED\tSKIPPED\tNOT RUN")
	for _, g := range append(slices.Clip(c.Groups), sum) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", g.SIG, g.Ran, g.Pass, g.ExpectedFailures, g.Failures,
			g.UnexpectedPasses, g.Skipped, g.NeedContainer)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if sum.NeedContainer > 0 {
		fmt.Fprintf(out, "\n%d specs were not run because they need a container that runs; -all runs them.\n",
			sum.NeedContainer)
	}
	for _, s := range c.Failed {
		fmt.Fprintf(out, "\nFAILED %s (%.0fs)\n%s\n", s.Name, s.Seconds, indent(s.Failure))
	}
	for _, s := range c.Skipped {
		fmt.Fprintf(out, "\nSKIPPED %s\n%s\n", s.Name, indent(s.Failure))
	}
	for _, name := range c.Passed {
		fmt.Fprintf(out, "\nPASSED although expected.txt lists it: %s\n", name)
	}
	for _, name := range c.Unknown {
		fmt.Fprintf(out, "\nNOT IN THE SUITE, although expected.txt lists it: %s\n", name)
	}
	return nil
}

// indent returns the first lines of a text, indented.
func indent(text string) string {
	const limit = 8
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > limit {
		lines = append(lines[:limit], "...")
	}
	return "    " + strings.Join(lines, "\n    ")
}
