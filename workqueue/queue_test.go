package workqueue_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/workqueue"
)

// get dequeues the next item, or fails the test if there is none.
func get(t *testing.T, q *workqueue.Queue[string]) string {
	t.Helper()
	item, ok := q.Get(t.Context())
	if !ok {
		t.Fatal("Get returned no item")
	}
	return item
}

func TestItemsAreDequeuedOnceAndInOrder(t *testing.T) {
	t.Parallel()
	q := workqueue.New[string](nil)
	defer q.ShutDown()
	for _, item := range []string{"b", "a", "b", "c", "a", "b"} {
		q.Add(item)
	}
	var got []string
	for q.Len() > 0 {
		item := get(t, q)
		got = append(got, item)
		q.Done(item)
	}
	if want := []string{"b", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestItemAddedDuringProcessingIsRequeuedAfterDone(t *testing.T) {
	t.Parallel()
	q := workqueue.New[string](nil)
	defer q.ShutDown()
	q.Add("a")
	get(t, q)
	q.Add("a")
	q.Add("a")
	if n := q.Len(); n != 0 {
		t.Fatalf("%d items wait while the only item is being processed, want 0", n)
	}
	q.Done("a")
	if n := q.Len(); n != 1 {
		t.Fatalf("%d items wait after Done, want 1", n)
	}
	get(t, q)
	q.Done("a")
	if n := q.Len(); n != 0 {
		t.Errorf("%d items wait at the end, want 0", n)
	}
}

func TestOneWorkerAtATimePerItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[int](nil)
		var busy [3]atomic.Int32
		var done sync.WaitGroup
		for range 8 {
			done.Go(func() {
				for item, ok := q.Get(t.Context()); ok; item, ok = q.Get(t.Context()) {
					if busy[item].Add(1) != 1 {
						t.Errorf("two workers process item %d at the same time", item)
					}
					time.Sleep(time.Millisecond)
					busy[item].Add(-1)
					q.Done(item)
				}
			})
		}
		for n := range 300 {
			q.Add(n % 3)
			time.Sleep(100 * time.Microsecond)
		}
		q.ShutDown()
		done.Wait()
	})
}

func TestAddAfterWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](nil)
		defer q.ShutDown()
		start := time.Now()
		q.AddAfter("slow", 2*time.Hour)
		q.AddAfter("quick", time.Hour)
		q.AddAfter("now", 0)
		q.AddAfter("quick", 3*time.Hour) // the earlier time stands
		q.AddAfter("slow", 90*time.Minute)
		for _, want := range []struct {
			item string
			at   time.Duration
		}{{"now", 0}, {"quick", time.Hour}, {"slow", 90 * time.Minute}} {
			item := get(t, q)
			if at := time.Since(start); item != want.item || at != want.at {
				t.Errorf("got %s after %v, want %s after %v", item, at, want.item, want.at)
			}
			q.Done(item)
		}
		time.Sleep(4 * time.Hour)
		if n := q.Len(); n != 0 {
			t.Errorf("%d items wait after all were dequeued, want 0", n)
		}
	})
}

func TestAddRateLimitedBacksOffUntilForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Limiter[string](workqueue.NewExponential[string](time.Second, time.Minute)))
		defer q.ShutDown()
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			start := time.Now()
			q.AddRateLimited("a")
			q.Done(get(t, q))
			if waited := time.Since(start); waited != want {
				t.Errorf("waited %v, want %v", waited, want)
			}
		}
		if n := q.NumRequeues("a"); n != 3 {
			t.Errorf("got %d requeues, want 3", n)
		}
		q.Forget("a")
		if n := q.NumRequeues("a"); n != 0 {
			t.Errorf("got %d requeues after Forget, want 0", n)
		}
	})
}

func TestShutDownEndsGetAfterQueuedItems(t *testing.T) {
	t.Parallel()
	q := workqueue.New[string](nil)
	q.Add("a")
	q.AddAfter("later", time.Hour)
	q.ShutDown()
	q.Add("refused")
	if item := get(t, q); item != "a" {
		t.Errorf("got %s, want a", item)
	}
	if item, ok := q.Get(t.Context()); ok {
		t.Errorf("got %s after the last item, want no item", item)
	}
	if !q.ShuttingDown() {
		t.Error("ShuttingDown is false after ShutDown")
	}
}

func TestGetEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](nil)
		defer q.ShutDown()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if item, ok := q.Get(ctx); ok {
			t.Errorf("got %s from an empty queue", item)
		}
		q.Add("a")
		if _, ok := q.Get(ctx); ok {
			t.Error("Get did not return after its context was canceled")
		}
		if item := get(t, q); item != "a" {
			t.Errorf("got %s, want a", item)
		}
	})
}

func TestDrainWaitsForWorkInProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](nil)
		q.Add("a")
		q.Add("b")
		finished := 0
		go func() {
			for item, ok := q.Get(t.Context()); ok; item, ok = q.Get(t.Context()) {
				time.Sleep(time.Second)
				finished++
				q.Done(item)
			}
		}()
		synctest.Wait()
		if err := q.ShutDownWithDrain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if finished != 2 {
			t.Errorf("%d items were finished, want 2", finished)
		}
	})
}

func TestDrainEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](nil)
		q.Add("stuck")
		get(t, q)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := q.ShutDownWithDrain(ctx); err != context.DeadlineExceeded {
			t.Errorf("got error %v, want that of the context", err)
		}
	})
}
