package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/bowline-dev/bowline/bench/plot"
)

const (
	// settleTime is the time until a server reaches its steady state: its history contains the last five minutes.
	settleTime = 6 * time.Minute
	// minSamples is the minimum number of later samples for a verdict.
	minSamples = 12
)

// series is a quantity that must be flat.
type series struct {
	name string
	unit string
	of   func(sample) float64
	// share and least limit the growth over the whole time: share is a fraction of the typical value, and
	// least is an absolute minimum of the limit.
	share, least float64
}

// judgedSeries returns the series of the verdict. Memory may grow by 5 %, and latency by a quarter; less than 2 ms
// is noise of the machine.
func judgedSeries() []series {
	all := []series{
		{"RssAnon", "MiB", func(s sample) float64 { return s.anonymous }, 0.05, 16},
		{"live heap", "MiB", func(s sample) float64 { return s.live }, 0.05, 16},
		{"files", "open", func(s sample) float64 { return s.files }, 0.02, 4},
		{"goroutines", "running", func(s sample) float64 { return s.goroutines }, 0.02, 16},
	}
	for v := range verbs {
		all = append(all, series{"p99 of " + v.String(), "ms", func(s sample) float64 {
			return s.latency[v].p99
		}, 0.25, 2})
	}
	return all
}

// judge prints for each series whether it was flat, and returns an error if one was not. If the soak was too
// short, it prints that instead.
func (r *report) judge(to io.Writer) error {
	from := slices.IndexFunc(r.samples, func(s sample) bool { return s.at > settleTime })
	if from < 0 || len(r.samples)-from < minSamples {
		fmt.Fprintf(to,
			"too short for a verdict: the history fills in the first five minutes, and %d samples after %s are needed\n", minSamples, settleTime)
		return nil
	}
	flat := true
	for _, s := range judgedSeries() {
		grew, typical := s.growth(r.samples[from:])
		bound := max(s.share*typical, s.least)
		verdict := "flat"
		if grew > bound {
			verdict, flat = "NOT FLAT", false
		}
		fmt.Fprintf(to, "%-20s %8.1f %s, grew by %.1f (at most %.1f): %s\n", s.name, typical, s.unit, grew, bound,
			verdict)
	}
	if !flat {
		return errors.New("a series is not flat")
	}
	return nil
}

// growth returns how much a series rose from the first sample to the last, according to the median of the
// slopes between all pairs (the Theil-Sen estimator), which is robust against outliers. typical is the median
// value.
func (s series) growth(samples []sample) (grew, typical float64) {
	var slopes, values []float64
	for i, a := range samples {
		values = append(values, s.of(a))
		for _, b := range samples[i+1:] {
			slopes = append(slopes, (s.of(b)-s.of(a))/(b.at-a.at).Seconds())
		}
	}
	slices.Sort(slopes)
	slices.Sort(values)
	span := (samples[len(samples)-1].at - samples[0].at).Seconds()
	return slopes[len(slopes)/2] * span, values[len(values)/2]
}

// draw draws the samples to a file.
func draw(file string, r *report) error {
	line := func(name string, of func(sample) float64) plot.Line {
		l := plot.Line{Name: name}
		for _, s := range r.samples {
			l.Points = append(l.Points, plot.Point{X: s.at.Minutes(), Y: of(s)})
		}
		return l
	}
	memory := plot.Chart{Title: "Memory", X: "minutes", Y: "MiB", Lines: []plot.Line{
		line("RssAnon", func(s sample) float64 { return s.anonymous }),
		line("live heap", func(s sample) float64 { return s.live }),
		line("files on disk", func(s sample) float64 { return s.onDisk }),
	}}
	half, most := plot.Chart{Title: "Half of the requests take at most", X: "minutes", Y: "ms"},
		plot.Chart{Title: "99 of 100 requests take at most", X: "minutes", Y: "ms"}
	for v := range verbs {
		half.Lines = append(half.Lines, line(v.String(), func(s sample) float64 { return s.latency[v].p50 }))
		most.Lines = append(most.Lines, line(v.String(), func(s sample) float64 { return s.latency[v].p99 }))
	}
	counts := plot.Chart{Title: "Open files and goroutines", X: "minutes", Y: "count", Lines: []plot.Line{
		line("files", func(s sample) float64 { return s.files }),
		line("goroutines", func(s sample) float64 { return s.goroutines }),
	}}
	return os.WriteFile(file, plot.SVG(memory, half, most, counts), 0o644)
}
