package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/workqueue"
)

// manualSource is a source that a test controls, with initial requests.
type manualSource struct {
	Trigger
	synced chan struct{}
}

func newManualSource() *manualSource { return &manualSource{synced: make(chan struct{})} }

func (h *manualSource) feed(in *inbox) (synced <-chan struct{}, remove func()) {
	h.Trigger.feed(in)
	return h.synced, func() {}
}

var a, b = Request{Namespace: "ns", Name: "a"}, Request{Namespace: "ns", Name: "b"}

// running runs a controller of f in a bubble, with a second's backoff that doubles, until test returns.
func running(t *testing.T, workers int, f Func, test func(c *Controller, h *manualSource)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newManualSource()
		c := New(Options{
			Name:       "test",
			Reconciler: f,
			Sources:    []Source{h},
			Workers:    workers,
			Limiter:    workqueue.NewExponential[Request](time.Second, time.Hour),
			Log:        slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { c.Run(ctx) })
		test(c, h)
		cancel()
		done.Wait()
	})
}

// times records the times of events since the start.
type times struct {
	start time.Time
	at    []time.Duration
}

func (w *times) mark() {
	if w.start.IsZero() {
		w.start = time.Now()
	}
	w.at = append(w.at, time.Since(w.start))
}

func TestWorkersStartAfterSourcesSync(t *testing.T) {
	t.Parallel()
	count := 0
	running(t, 1, func(context.Context, Request) (Result, error) {
		count++
		return Result{}, nil
	}, func(c *Controller, h *manualSource) {
		h.Add(a)
		time.Sleep(time.Hour)
		if count != 0 {
			t.Error("reconciled before the cache was filled")
		}
		close(h.synced)
		<-c.Ready()
		synctest.Wait()
		if count != 1 {
			t.Errorf("got %d reconciles", count)
		}
	})
}

func TestErrorIsRetriedWithBackoff(t *testing.T) {
	t.Parallel()
	var attempts times
	running(t, 1, func(context.Context, Request) (Result, error) {
		attempts.mark()
		switch len(attempts.at) {
		case 1:
			return Result{}, errors.New("no")
		case 2:
			return Result{}, apierrors.NewConflict(schema.GroupResource{Resource: "tests"}, "a", errors.New("changed"))
		case 3: // what comes with an error does not count
			return Result{RequeueAfter: time.Hour}, errors.New("no")
		}
		return Result{}, nil
	}, func(c *Controller, h *manualSource) {
		close(h.synced)
		h.Add(a)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}; !slices.Equal(attempts.at, want) {
			t.Errorf("got reconciles at %v, want %v", attempts.at, want)
		}
		if n := c.queue.NumRequeues(a); n != 0 {
			t.Errorf("got %d failures after a success, want 0", n)
		}
	})
}

// Conflicts are normal with optimistic concurrency, so they are logged at debug level.
func TestConflictIsRetriedAndLoggedAtDebug(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "tests"}, "a", errors.New("changed"))
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"a conflict":           {fmt.Errorf("write the status: %w", conflict), "level=DEBUG"},
		"another failure":      {errors.New("broken"), "level=WARN"},
		"a panic":              {nil, "level=ERROR"},
		"the controller stops": {context.Canceled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			c := New(Options{Name: "test",
				Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				Reconciler: Func(
					func(context.Context, Request) (Result, error) {
						if test.err == nil {
							panic("boom")
						}
						return Result{}, test.err
					})})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if errors.Is(test.err, context.Canceled) {
				cancel()
			}
			c.handle(ctx, a)
			c.queue.ShutDown()
			if first, _, _ := strings.Cut(log.String(), " msg="); !strings.HasSuffix(first, test.want) ||
				(first == "") != (test.want == "") {
				t.Errorf("got log %q, want %s", log.String(), test.want)
			}
			if n := c.queue.NumRequeues(a); n != 1 {
				t.Errorf("got %d retries, want 1", n)
			}
		})
	}
}

func TestPanicFailsOneRequest(t *testing.T) {
	t.Parallel()
	var attempts times
	reconciled := 0
	running(t, 1, func(_ context.Context, request Request) (Result, error) {
		if request == b {
			reconciled++
			return Result{}, nil
		}
		attempts.mark()
		if len(attempts.at) < 3 {
			panic("boom")
		}
		return Result{}, nil
	}, func(c *Controller, h *manualSource) {
		close(h.synced)
		h.Add(a)
		h.Add(b)
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []time.Duration{0, time.Second, 3 * time.Second}; !slices.Equal(attempts.at, want) ||
			reconciled != 1 {
			t.Errorf("got reconciles at %v of the object that panics, want %v; %d of the other", attempts.at, want,
				reconciled)
		}
	})
}

func TestRequeueAfterIsNotAFailure(t *testing.T) {
	t.Parallel()
	var attempts times
	running(t, 1, func(context.Context, Request) (Result, error) {
		attempts.mark()
		return Result{RequeueAfter: 10 * time.Minute}, nil
	}, func(c *Controller, h *manualSource) {
		close(h.synced)
		h.Add(a)
		time.Sleep(48*time.Hour + time.Minute)
		synctest.Wait()
		if n := len(attempts.at); n != 289 || attempts.at[288] != 48*time.Hour {
			t.Errorf("got %d reconciles, the last after %v", n, attempts.at[n-1])
		}
	})
}

func TestWorkersNeverShareAnObject(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	busy, most := map[Request]bool{}, 0
	running(t, 4, func(_ context.Context, request Request) (Result, error) {
		mu.Lock()
		if busy[request] {
			t.Errorf("%s is reconciled twice at the same time", request)
		}
		busy[request] = true
		most = max(most, len(busy))
		mu.Unlock()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		delete(busy, request)
		return Result{}, nil
	}, func(c *Controller, h *manualSource) {
		close(h.synced)
		for range 10 {
			h.Add(a)
			h.Add(b)
			time.Sleep(30 * time.Second)
		}
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if most != 2 {
			t.Errorf("got at most %d concurrent reconciles, want 2", most)
		}
	})
}

func TestStopCancelsReconcileContext(t *testing.T) {
	t.Parallel()
	ended := false
	running(t, 1, func(ctx context.Context, _ Request) (Result, error) {
		<-ctx.Done()
		ended = true
		return Result{}, ctx.Err()
	}, func(c *Controller, h *manualSource) {
		close(h.synced)
		h.Add(a)
		synctest.Wait()
	})
	if !ended {
		t.Error("Run returned before the worker")
	}
}
