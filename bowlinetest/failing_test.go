package bowlinetest_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// trial is a testing.TB that records failures, for tests of code that fails tests.
type trial struct {
	testing.TB
	name string

	mu       sync.Mutex
	output   []string
	failed   bool
	cleanups []func()
}

// try runs a test with its cleanups, and returns whether it failed and what it logged.
func try(t *testing.T, f func(t testing.TB)) (failed bool, output string) {
	t.Helper()
	tr := &trial{TB: t, name: t.Name() + "/trial"}
	tr.goroutine(func() { f(tr) })
	for len(tr.cleanups) > 0 {
		last := tr.cleanups[len(tr.cleanups)-1]
		tr.cleanups = tr.cleanups[:len(tr.cleanups)-1]
		tr.goroutine(last)
	}
	return tr.failed, strings.Join(tr.output, "\n")
}

// goroutine runs f in a goroutine that Fatal may end.
func (tr *trial) goroutine(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	<-ended
}

func (tr *trial) record(failed bool, format string, arguments ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.failed = tr.failed || failed
	tr.output = append(tr.output, fmt.Sprintf(format, arguments...))
}

func (tr *trial) Name() string             { return tr.name }
func (tr *trial) Helper()                  {}
func (tr *trial) Context() context.Context { return context.Background() }
func (tr *trial) Output() io.Writer        { return io.Discard }

func (tr *trial) Logf(format string, arguments ...any)   { tr.record(false, format, arguments...) }
func (tr *trial) Errorf(format string, arguments ...any) { tr.record(true, format, arguments...) }
func (tr *trial) Fatal(arguments ...any)                 { tr.Fatalf("%s", fmt.Sprint(arguments...)) }
func (tr *trial) Fatalf(format string, arguments ...any) {
	tr.record(true, format, arguments...)
	runtime.Goexit()
}

func (tr *trial) Cleanup(f func()) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.cleanups = append(tr.cleanups, f)
}

// mustFail runs a test that must fail and log all wanted texts.
func mustFail(t *testing.T, f func(t testing.TB), wanted ...string) {
	t.Helper()
	failed, output := try(t, f)
	if !failed {
		t.Errorf("the test passed, with output %q", output)
	}
	for _, w := range wanted {
		if !strings.Contains(output, w) {
			t.Errorf("got output\n%s\nwant %q in it", output, w)
		}
	}
}
