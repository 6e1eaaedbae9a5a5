package nginx

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// journal is a slog.Handler that lets tests wait for log lines.
type journal struct {
	t       testing.TB
	mu      sync.Mutex
	lines   []string
	changed chan struct{}
	ended   bool
}

func newJournal(t testing.TB) *journal {
	j := &journal{t: t, changed: make(chan struct{})}
	t.Cleanup(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.ended = true
		if t.Failed() {
			t.Logf("the controller's log:\n%s", strings.Join(j.lines, "\n"))
		}
	})
	return j
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	line := r.Time.Format("05.000 ") + r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
	close(j.changed)
	j.changed = make(chan struct{})
	return nil
}

// count returns the number of lines that contain a text.
func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, line := range j.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// until waits until so returns true. It checks after each log line.
func (j *journal) until(what string, so func() bool) {
	j.t.Helper()
	timeout := time.After(patience)
	for {
		j.mu.Lock()
		changed := j.changed
		j.mu.Unlock()
		if so() {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			j.t.Fatalf("not within %s: %s", patience, what)
		}
	}
}
