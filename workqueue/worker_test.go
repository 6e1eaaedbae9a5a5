package workqueue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/workqueue"
)

func TestAllWorkersAreWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const workers = 8
		q := workqueue.New[int](nil)
		defer q.ShutDown()
		var busy atomic.Int32
		for range workers {
			go func() {
				for item, ok := q.Get(t.Context()); ok; item, ok = q.Get(t.Context()) {
					busy.Add(1)
					time.Sleep(time.Minute)
					busy.Add(-1)
					q.Done(item)
				}
			}()
		}
		for _, burst := range []int{workers, 1, workers - 1, 10 * workers} {
			synctest.Wait()
			for i := range burst {
				q.Add(i)
			}
			synctest.Wait()
			if n := int(busy.Load()); n != min(burst, workers) {
				t.Errorf("got %d busy workers for %d items, want %d", n, burst, min(burst, workers))
			}
			time.Sleep(time.Hour)
		}
	})
}

// TestItemSurvivesCanceledGet cancels a worker's context right after the worker was woken for an item, and checks that
// another worker gets the item.
func TestItemSurvivesCanceledGet(t *testing.T) {
	t.Parallel()
	for range 100 { // either may be noticed first
		synctest.Test(t, func(t *testing.T) {
			q := workqueue.New[string](nil)
			defer q.ShutDown()
			var got atomic.Int32
			worker := func(ctx context.Context) {
				if _, ok := q.Get(ctx); ok {
					got.Add(1)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			go worker(t.Context())
			synctest.Wait()
			go worker(ctx) // came last, so is woken first
			synctest.Wait()
			q.Add("a")
			cancel()
			synctest.Wait()
			if n := got.Load(); n != 1 {
				t.Errorf("%d workers got the item, want 1", n)
			}
		})
	}
}

func TestItemDueDuringProcessingIsRequeued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](nil)
		defer q.ShutDown()
		q.Add("a")
		get(t, q)
		q.AddAfter("a", time.Minute)
		time.Sleep(time.Hour)
		if n := q.Len(); n != 0 {
			t.Errorf("%d items wait while the only item is being processed, want 0", n)
		}
		q.Done("a")
		if n := q.Len(); n != 1 {
			t.Errorf("%d items wait after Done, want 1", n)
		}
	})
}

// TestAddDoesNotReplaceAddAfter checks that, as in client-go, Add does not cancel an AddAfter of the same item.
func TestAddDoesNotReplaceAddAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](nil)
		defer q.ShutDown()
		start := time.Now()
		q.AddAfter("a", time.Hour)
		q.Add("a")
		q.AddAfter("b", -time.Hour)
		for _, want := range []struct {
			item string
			at   time.Duration
		}{{"a", 0}, {"b", 0}, {"a", time.Hour}} {
			item := get(t, q)
			if at := time.Since(start); item != want.item || at != want.at {
				t.Errorf("got %s after %v, want %s after %v", item, at, want.item, want.at)
			}
			q.Done(item)
		}
	})
}

func TestForgetDoesNotRemoveQueuedItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.NewExponential[string](time.Second, time.Minute))
		defer q.ShutDown()
		q.AddRateLimited("a")
		q.AddRateLimited("b")
		q.AddRateLimited("b")
		q.Forget("a")
		q.Forget("never seen")
		if a, b := q.NumRequeues("a"), q.NumRequeues("b"); a != 0 || b != 2 {
			t.Errorf("a was requeued %d times, b %d times; want 0 and 2", a, b)
		}
		start := time.Now()
		for range 2 { // of the two times of b, the earlier stands
			q.Done(get(t, q))
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("got both items after %v, want 1s", waited)
		}
		q.AddRateLimited("a")
		q.Done(get(t, q))
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("got the next retry of a after %v, want 2s, because Forget was called", waited)
		}
	})
}
