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
	// settle is how long a server takes until it is as it will stay: its history holds the last five minutes.
	settle = 6 * time.Minute
	// enough is how many samples after that tell how they go on.
	enough = 12
)

// series is something that must stay flat.
type series struct {
	name string
	unit string
	of   func(sample) float64
	// share and least say how much it may grow from the beginning to the end: a share of what it is, and at least so much.
	share, least float64
}

// judged are the series of the verdict. Memory may grow by 5 %, and latency by a quarter, but less than 2 ms is the machine's.
func judged() []series {
	all := []series{
		{"RssAnon", "MiB", func(s sample) float64 { return s.anonymous }, 0.05, 16},
		{"live heap", "MiB", func(s sample) float64 { return s.live }, 0.05, 16},
		{"files", "open", func(s sample) float64 { return s.files }, 0.02, 4},
		{"goroutines", "running", func(s sample) float64 { return s.goroutines }, 0.02, 16},
	}
	for v := range verbs {
		all = append(all, series{"p99 of " + v.String(), "ms", func(s sample) float64 { return s.latency[v].p99 }, 0.25, 2})
	}
	return all
}

// judge prints for each series whether it was flat, and returns an error when one was not. Of a soak that was too short it
// says so.
func (r *report) judge(to io.Writer) error {
	from := slices.IndexFunc(r.samples, func(s sample) bool { return s.at > settle })
	if from < 0 || len(r.samples)-from < enough {
		fmt.Fprintf(to, "too short for a verdict: the history fills in the first five minutes, and %d samples after %s are needed\n", enough, settle)
		return nil
	}
	flat := true
	for _, s := range judged() {
		grew, typical := s.growth(r.samples[from:])
		bound := max(s.share*typical, s.least)
		verdict := "flat"
		if grew > bound {
			verdict, flat = "NOT FLAT", false
		}
		fmt.Fprintf(to, "%-20s %8.1f %s, grew by %.1f (at most %.1f): %s\n", s.name, typical, s.unit, grew, bound, verdict)
	}
	if !flat {
		return errors.New("the server did not stay as it was")
	}
	return nil
}

// growth is how much a series rose from the first sample to the last, by the median of the slopes between all pairs (Theil
// and Sen), which single samples that stand out do not move; and what it typically is, the median.
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
	half, most := plot.Chart{Title: "Half of the requests take at most", X: "minutes", Y: "ms"}, plot.Chart{Title: "99 of 100 requests take at most", X: "minutes", Y: "ms"}
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
