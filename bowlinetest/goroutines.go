package bowlinetest

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// goroutines finds the goroutines that a test has started since the mark, directly or through other
// goroutines: the mark is a profiler label, which goroutines inherit.
type goroutines struct {
	t    testing.TB
	mark string
}

// label is the key of the mark in profiles.
const label = "bowlinetest"

func markGoroutines(t testing.TB) *goroutines {
	g := &goroutines{t: t}
	g.mark = fmt.Sprintf("%s %p", t.Name(), g)
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(label, g.mark)))
	return g
}

// verify reports the goroutines that have not ended within the plane's Timeout. There is no event for the
// end of a goroutine, so it polls, with growing pauses.
func (g *goroutines) verify(p *Plane) {
	g.t.Helper()
	pprof.SetGoroutineLabels(context.Background()) // the test's goroutine ends later
	pause := 100 * time.Microsecond
	for waited := time.Duration(0); ; pause *= 2 {
		leaked := g.leaked()
		if len(leaked) == 0 {
			return
		}
		if waited >= p.settings.timeout {
			for _, stack := range leaked {
				p.leaked(g.t, "a goroutine does not end:\n%s", stack)
			}
			return
		}
		time.Sleep(pause)
		waited += pause
	}
}

// leaked returns the stacks of the marked goroutines that have not ended.
func (g *goroutines) leaked() (stacks []string) {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return []string{err.Error()}
	}
	marked := fmt.Sprintf("%q:%q", label, g.mark)
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if _, frames, ok := strings.Cut(stack, marked); ok {
			_, frames, _ = strings.Cut(frames, "\n")
			stacks = append(stacks, frames)
		}
	}
	return stacks
}

// leaked fails the test for a leak, or only logs it if leaks are allowed.
func (p *Plane) leaked(t testing.TB, format string, arguments ...any) {
	t.Helper()
	if p.settings.allowLeaks {
		t.Logf("left behind: "+format, arguments...)
		return
	}
	t.Errorf("left behind: "+format, arguments...)
}
