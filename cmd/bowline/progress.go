package main

import (
	"fmt"
	"time"
)

// progressEvery is how often people see progress.
const progressEvery = 100 * time.Millisecond

// progress shows people how far something is that takes its time. Where nobody watches it says nothing.
type progress struct {
	to       *screen
	what     string
	past, of int
	shown    time.Time
}

func newProgress(to *screen, what string, of int) *progress {
	return &progress{to: to, what: what, of: of, shown: time.Now()}
}

// step counts one thing more.
func (p *progress) step() {
	p.past++
	if p.past%256 != 0 || !p.to.out.forPeople() || time.Since(p.shown) < progressEvery {
		return
	}
	p.shown = time.Now()
	percent := 100
	if p.of > 0 {
		percent = 100 * p.past / p.of
	}
	p.to.change(fmt.Sprintf("%s: %d of %d objects (%d %%)", p.what, p.past, p.of, percent))
}

// inBytes is a size as people read it.
func inBytes(n int) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	size, names := float64(n)/unit, []string{"KiB", "MiB", "GiB"}
	for size >= unit && len(names) > 1 {
		size, names = size/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %s", size, names[0])
}
