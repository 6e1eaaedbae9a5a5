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
	said     []string
	failed   bool
	cleanups []func()
}

// try runs a test with its cleanups, and returns whether it failed and what it logged.
func try(t *testing.T, f func(t testing.TB)) (failed bool, said string) {
	t.Helper()
	of := &trial{TB: t, name: t.Name() + "/trial"}
	of.goroutine(func() { f(of) })
	for len(of.cleanups) > 0 {
		last := of.cleanups[len(of.cleanups)-1]
		of.cleanups = of.cleanups[:len(of.cleanups)-1]
		of.goroutine(last)
	}
	return of.failed, strings.Join(of.said, "\n")
}

// goroutine runs f in a goroutine that Fatal may end.
func (of *trial) goroutine(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	<-ended
}

func (of *trial) say(failed bool, format string, arguments ...any) {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.failed = of.failed || failed
	of.said = append(of.said, fmt.Sprintf(format, arguments...))
}

func (of *trial) Name() string             { return of.name }
func (of *trial) Helper()                  {}
func (of *trial) Context() context.Context { return context.Background() }
func (of *trial) Output() io.Writer        { return io.Discard }

func (of *trial) Logf(format string, arguments ...any)   { of.say(false, format, arguments...) }
func (of *trial) Errorf(format string, arguments ...any) { of.say(true, format, arguments...) }
func (of *trial) Fatal(arguments ...any)                 { of.Fatalf("%s", fmt.Sprint(arguments...)) }
func (of *trial) Fatalf(format string, arguments ...any) {
	of.say(true, format, arguments...)
	runtime.Goexit()
}

func (of *trial) Cleanup(f func()) {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.cleanups = append(of.cleanups, f)
}

// mustFail runs a test that must fail and log all wanted texts.
func mustFail(t *testing.T, f func(t testing.TB), wanted ...string) {
	t.Helper()
	failed, said := try(t, f)
	if !failed {
		t.Errorf("the test passed, with output %q", said)
	}
	for _, w := range wanted {
		if !strings.Contains(said, w) {
			t.Errorf("got output\n%s\nwant %q in it", said, w)
		}
	}
}
