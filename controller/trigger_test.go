package controller

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// triggered runs a controller whose only source is a trigger, in a bubble, and returns the times of its requests in
// seconds. It calls before with the trigger before it creates the controller, and after once the controller runs.
func triggered(t *testing.T, before, after func(trigger *Trigger)) map[Request][]int {
	t.Helper()
	came := map[Request][]int{}
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		var trigger Trigger
		before(&trigger)
		c := New(Options{
			Name:    "test",
			Sources: []Source{&trigger},
			Reconciler: Func(func(_ context.Context, r Request) (Result, error) {
				came[r] = append(came[r], int(time.Since(started)/time.Second))
				return Result{}, nil
			}),
			Log: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		<-c.Ready()
		after(&trigger)
		time.Sleep(time.Hour)
		cancel()
		running.Wait()
		trigger.Add(a) // nobody is there any more to answer
		trigger.AddAfter(a, time.Second)
		time.Sleep(time.Hour)
	})
	return came
}

func expectCame(t *testing.T, came map[Request][]int, r Request, want ...int) {
	t.Helper()
	if !slices.Equal(came[r], want) {
		t.Errorf("%s was reconciled after %v seconds, want %v", r, came[r], want)
	}
}

func TestTriggerReconcilesObjects(t *testing.T) {
	t.Parallel()
	came := triggered(t, func(*Trigger) {}, func(trigger *Trigger) {
		trigger.Add(a)
		time.Sleep(time.Minute)
		trigger.Add(a)
		trigger.Add(b)
	})
	expectCame(t, came, a, 0, 60)
	expectCame(t, came, b, 60)
}

func TestTriggerCoalescesBursts(t *testing.T) {
	t.Parallel()
	came := triggered(t, func(*Trigger) {}, func(trigger *Trigger) {
		for range 10 {
			trigger.AddAfter(a, 10*time.Second)
			time.Sleep(time.Second)
		}
		trigger.AddAfter(b, time.Minute)
		trigger.AddAfter(b, 20*time.Second)
	})
	expectCame(t, came, a, 10)
	expectCame(t, came, b, 30)
}

func TestTriggerBuffersRequestsBeforeStart(t *testing.T) {
	t.Parallel()
	came := triggered(t, func(trigger *Trigger) {
		trigger.Add(a)
		trigger.AddAfter(b, time.Minute)
	}, func(*Trigger) {})
	expectCame(t, came, a, 0)
	expectCame(t, came, b, 60)
}
