package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/workqueue"
)

// worked runs a controller on a trigger in a bubble, with metrics and a log, until test returns, and returns Run's
// error.
func worked(t *testing.T, o Options, f Func, test func(c *Controller, h *Trigger, log *logged)) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log logged
		h := &Trigger{}
		o.Name, o.Reconciler, o.Sources, o.Metrics = "test", f, []Source{h}, NewMetrics()
		o.Limiter = workqueue.NewExponential[Request](time.Second, time.Hour)
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		c := New(o)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { err = c.Run(ctx) })
		<-c.Ready()
		test(c, h, &log)
		cancel()
		running.Wait()
		time.Sleep(time.Hour) // for what a test lets go later
	})
	return err
}

// logged is a log that may be read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// size returns the number of workers.
func (p *pool) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.workers)
}

// pass lets virtual time pass until all goroutines are idle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestTerminalErrorWaitsForAChange(t *testing.T) {
	t.Parallel()
	var attempts times
	worked(t, Options{}, func(context.Context, Request) (Result, error) {
		attempts.mark()
		return Result{RequeueAfter: time.Second}, fmt.Errorf("spec: %w", Terminal(errors.New("no such thing")))
	}, func(c *Controller, h *Trigger, log *logged) {
		h.Add(a)
		pass(time.Hour)
		h.Add(a)
		pass(time.Hour)
		if want := []time.Duration{0, time.Hour}; !slices.Equal(attempts.at, want) {
			t.Errorf("got reconciles at %v, want %v", attempts.at, want)
		}
		if text := log.String(); !strings.Contains(text, "object=ns/a") ||
			!strings.Contains(text, "spec: terminal: no such thing") {
			t.Errorf("got log %s", text)
		}
		wantCounts(t, c, `controller_runtime_terminal_reconcile_errors_total 2`,
			`controller_runtime_reconcile_errors_total 2`)
	})
	if Terminal(nil) != nil || isTerminal(errors.New("x")) || !errors.Is(Terminal(context.Canceled), context.Canceled) {
		t.Error("Terminal marks an error that it should not, or hides the error that it marks")
	}
}

func TestTimeoutEndsTheContextOfOneReconcile(t *testing.T) {
	t.Parallel()
	var attempts times
	worked(t, Options{Timeout: time.Minute}, func(ctx context.Context, _ Request) (Result, error) {
		attempts.mark()
		if len(attempts.at) == 1 {
			<-ctx.Done()
			return Result{}, ctx.Err()
		}
		return Result{}, nil
	}, func(c *Controller, h *Trigger, log *logged) {
		h.Add(a)
		pass(time.Hour)
		if want := []time.Duration{0, time.Minute + time.Second}; !slices.Equal(attempts.at, want) {
			t.Errorf("got reconciles at %v, want %v", attempts.at, want)
		}
		if text := log.String(); !strings.Contains(text, "the reconcile exceeded its timeout of 1m0s") {
			t.Errorf("got log %s", text)
		}
		wantCounts(t, c, "controller_runtime_reconcile_timeouts_total 1", "controller_runtime_reconcile_total error 1",
			"controller_runtime_reconcile_total success 1")
	})
}

// TestStuckReconcileIsReportedAndReplaced has one object whose reconciliation does not return.
func TestStuckReconcileIsReportedAndReplaced(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	var others atomic.Int32
	worked(t, Options{Timeout: time.Minute}, func(_ context.Context, r Request) (Result, error) {
		if r == a {
			<-free
			return Result{}, nil
		}
		others.Add(1)
		return Result{}, nil
	}, func(c *Controller, h *Trigger, log *logged) {
		free = make(chan struct{})
		h.Add(a)
		h.Add(b)
		pass(time.Minute + grace - time.Second)
		if err := c.pool.stuck(); err != nil || others.Load() != 0 {
			t.Errorf("reported too early: %v; %d others", err, others.Load())
		}
		pass(2 * time.Second)
		if err := c.pool.stuck(); err == nil || !strings.Contains(err.Error(), "ns/a (for 1m11s)") {
			t.Errorf("reported %v", err)
		}
		if text := log.String(); others.Load() != 1 ||
			!strings.Contains(text, "a reconcile does not return: a replacement worker was started") {
			t.Errorf("got %d reconciles of others; log %s", others.Load(), text)
		}
		close(free)
		synctest.Wait()
		if err := c.pool.stuck(); err != nil {
			t.Errorf("still reported: %v", err)
		}
		h.Add(b)
		pass(time.Second)
		if n := c.pool.size(); others.Load() != 2 || n != 1 {
			t.Errorf("got %d reconciles of others, %d workers", others.Load(), n)
		}
	})
}

// TestReplacedWorkersAreLimited has a reconciler that never returns.
func TestReplacedWorkersAreLimited(t *testing.T) {
	t.Parallel()
	var free chan struct{}
	worked(t, Options{Workers: 2}, func(context.Context, Request) (Result, error) {
		<-free
		return Result{}, nil
	}, func(c *Controller, h *Trigger, _ *logged) {
		free = make(chan struct{})
		for i := range 100 {
			h.Add(Request{Name: fmt.Sprint(i)})
		}
		pass(48 * time.Hour)
		if n := c.pool.size(); n != 2+maxReplaced {
			t.Errorf("got %d workers, want %d", n, 2+maxReplaced)
		}
		if err := c.pool.exhausted(); err == nil || !strings.Contains(err.Error(), "no worker is left") {
			t.Errorf("got %v", err)
		}
		close(free)
	})
}

func TestStopReportsStuckReconciles(t *testing.T) {
	t.Parallel()
	var free chan struct{}
	var started time.Time
	err := worked(t, Options{StopTimeout: time.Minute}, func(context.Context, Request) (Result, error) {
		<-free
		return Result{}, nil
	}, func(_ *Controller, h *Trigger, _ *logged) {
		free = make(chan struct{})
		h.Add(a)
		synctest.Wait()
		started = time.Now()
		time.AfterFunc(time.Minute+time.Second, func() { close(free) })
	})
	if err == nil || !strings.Contains(err.Error(),
		"controller test: 1m0s after it was stopped, it is still reconciling ns/a") || started.IsZero() {
		t.Errorf("got %v", err)
	}
}

// TestGoexitInReconcileIsAFailure calls runtime.Goexit in the reconciler, as testing.T.FailNow does.
func TestGoexitInReconcileIsAFailure(t *testing.T) {
	t.Parallel()
	var attempts times
	worked(t, Options{}, func(context.Context, Request) (Result, error) {
		if attempts.mark(); len(attempts.at) < 3 {
			runtime.Goexit()
		}
		return Result{}, nil
	}, func(c *Controller, h *Trigger, log *logged) {
		h.Add(a)
		pass(time.Hour)
		if want := []time.Duration{0, time.Second, 3 * time.Second}; !slices.Equal(attempts.at, want) ||
			c.pool.size() != 1 {
			t.Errorf("got reconciles at %v, want %v; there are %d workers", attempts.at, want, c.pool.size())
		}
		if text := log.String(); !strings.Contains(text, "the reconciler ended its goroutine") {
			t.Errorf("got log %s", text)
		}
		wantCounts(t, c, "controller_runtime_reconcile_errors_total 2", "controller_runtime_active_workers 0")
	})
}

// pointed is an error whose Error method panics for a nil pointer.
type pointed struct{ text string }

func (p *pointed) Error() string { return p.text }

func TestNilPointerErrorFailsOneRequest(t *testing.T) {
	t.Parallel()
	attempts := 0
	worked(t, Options{}, func(context.Context, Request) (Result, error) {
		if attempts++; attempts == 1 {
			var none *pointed
			return Result{}, none
		}
		return Result{}, nil
	}, func(c *Controller, h *Trigger, log *logged) {
		h.Add(a)
		pass(time.Hour)
		if text := log.String(); attempts != 2 ||
			!strings.Contains(text, "the reconciler panicked: runtime error: invalid memory address") {
			t.Errorf("got %d reconciles, log %s", attempts, text)
		}
	})
}

func TestPanicsAreCounted(t *testing.T) {
	t.Parallel()
	panics := 0
	worked(t, Options{}, func(context.Context, Request) (Result, error) {
		if panics++; panics < 3 {
			panic("boom")
		}
		return Result{RequeueAfter: 24 * time.Hour}, nil
	}, func(c *Controller, h *Trigger, _ *logged) {
		h.Add(a)
		pass(time.Hour)
		wantCounts(t, c, "controller_runtime_reconcile_panics_total 2", "controller_runtime_reconcile_total error 2",
			"controller_runtime_reconcile_total requeue_after 1", "controller_runtime_active_workers 0",
			"controller_runtime_max_concurrent_reconciles 1",
			"controller_runtime_reconcile_time_seconds 3", "workqueue_adds_total 3")
	})
}

// wantCounts checks a controller's metrics: name, the label result if there is one, and value or count.
func wantCounts(t *testing.T, c *Controller, want ...string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c.options.Metrics)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			line := family.GetName()
			for _, label := range m.GetLabel() {
				if label.GetName() == "result" {
					line += " " + label.GetValue()
				}
			}
			got = append(got, fmt.Sprint(line, " ",
				m.GetCounter().GetValue()+m.GetGauge().GetValue()+float64(m.GetHistogram().GetSampleCount())))
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("got\n%s\nwant the line %q", strings.Join(got, "\n"), w)
		}
	}
}
