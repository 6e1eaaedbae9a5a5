package workqueue_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/workqueue"
)

func TestDrainOfEmptyQueueReturnsAtOnce(t *testing.T) {
	t.Parallel()
	q := workqueue.New[string](nil)
	q.AddAfter("later", time.Hour) // is dropped
	for range 2 {
		if err := q.ShutDownWithDrain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if item, ok := q.Get(t.Context()); ok {
		t.Errorf("got %s", item)
	}
}

// TestDrainWaitsForReaddedItems checks that a drain waits for items that were added again while they were processed,
// and drops rate-limited retries.
func TestDrainWaitsForReaddedItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](nil)
		q.Add("a")
		get(t, q)
		q.Add("a")
		var draining sync.WaitGroup
		ended := 0
		var mu sync.Mutex
		for range 2 {
			draining.Go(func() {
				if err := q.ShutDownWithDrain(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended++
			})
		}
		synctest.Wait()
		q.Done("a")
		get(t, q)
		q.Add("a") // too late
		q.AddRateLimited("a")
		synctest.Wait()
		if ended != 0 {
			t.Fatal("a drain ended while an item was processed")
		}
		q.Done("a")
		draining.Wait()
		if n := q.Len(); n != 0 {
			t.Errorf("%d items wait after the drain, want 0", n)
		}
	})
}

// TestDrainEmptiesLongQueue has many workers dequeue the waiting items, in batches and one at a time.
func TestDrainEmptiesLongQueue(t *testing.T) {
	t.Parallel()
	const items, workers = 10_000, 8
	q := workqueue.New[int](nil)
	priorities := []workqueue.Priority{workqueue.Normal, workqueue.Normal, workqueue.Low, workqueue.High}
	for i := range items {
		q.AddWithPriority(i, priorities[i/1000%len(priorities)])
	}
	var worked [items]int
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for item, ok := q.Get(t.Context()); ok; item, ok = q.Get(t.Context()) {
				worked[item]++ // the race detector finds two at a time
				q.Done(item)
			}
		})
	}
	if err := q.ShutDownWithDrain(t.Context()); err != nil {
		t.Fatal(err)
	}
	working.Wait()
	for item, n := range worked {
		if n != 1 {
			t.Fatalf("item %d was processed %d times, want 1", item, n)
		}
	}
}
