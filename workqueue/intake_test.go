package workqueue

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// all dequeues all waiting items, in order.
func all[T comparable](t *testing.T, q *Queue[T]) []T {
	t.Helper()
	var got []T
	for q.Len() > 0 {
		item, ok := q.Get(t.Context())
		if !ok {
			t.Fatal("Get returned no item")
		}
		got = append(got, item)
		q.Done(item)
	}
	return got
}

func TestDeferredOperationsRunInOrder(t *testing.T) {
	t.Parallel()
	q := New[string](nil)
	defer q.ShutDown()
	q.Add("worked on")
	q.Add("twice")
	q.Get(t.Context())
	q.Get(t.Context())
	q.lock()
	q.Add("a")
	q.Done("worked on")
	q.Add("twice")
	q.Done("twice")
	q.AddWithPriority("urgent", High)
	q.Add("a")
	q.unlock()
	if got, want := all(t, q), []string{"urgent", "a", "twice"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := q.entries.count; n != 0 {
		t.Errorf("the intake retains %d items, want 0", n)
	}
}

func TestExcessOperationsWaitForLock(t *testing.T) {
	t.Parallel()
	q := New[int](nil)
	defer q.ShutDown()
	q.lock()
	for i := range maxDeferred {
		q.Add(i)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() { q.Add(maxDeferred) })
	q.unlock()
	waiting.Wait()
	if got := all(t, q); len(got) != maxDeferred+1 || !slices.IsSorted(got) {
		t.Errorf("got %d items %v, want %d in order", len(got), got, maxDeferred+1)
	}
}

func TestDeferredAddWakesWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New[string](nil)
		defer q.ShutDown()
		var got string
		go func() { got, _ = q.Get(t.Context()) }()
		synctest.Wait()
		q.lock()
		q.Add("a")
		q.unlock()
		synctest.Wait()
		if got != "a" {
			t.Errorf("a waiting worker got %q", got)
		}
	})
}

// TestAddHappensBeforeGet adds items from several producers at once, without workers: Len must include each item
// as soon as its Add has returned.
func TestAddHappensBeforeGet(t *testing.T) {
	t.Parallel()
	const producers, items, rounds = 8, 200, 5
	for range rounds {
		q := New[int](nil)
		var producing sync.WaitGroup
		var added atomic.Int64
		for p := range producers {
			producing.Go(func() {
				for i := range items {
					q.Add(p*items + i)
					if want := int(added.Add(1)); q.Len() < want {
						t.Errorf("Len is below %d, the number of items added", want)
						return
					}
				}
			})
		}
		producing.Wait()
		q.ShutDown()
		if n := q.Len(); n != producers*items {
			t.Errorf("%d items wait, want %d", n, producers*items)
		}
	}
}
