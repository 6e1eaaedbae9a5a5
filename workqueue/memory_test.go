package workqueue_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/workqueue"
)

// TestQueueReleasesMemoryAfterBurst fills and empties a queue, and measures its memory afterwards.
func TestQueueReleasesMemoryAfterBurst(t *testing.T) {
	q := workqueue.New[string](nil)
	defer q.ShutDown()
	before := heap()
	for round := range 5 {
		for i := range 100_000 {
			q.Add(fmt.Sprint("item ", round, " ", i))
		}
		drain(t, q)
	}
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("an empty queue retains %d KiB", grown>>10)
	}
	runtime.KeepAlive(q)
}

func TestQueueReleasesMemoryAfterDelaysAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.NewExponential[string](time.Second, time.Second))
		defer q.ShutDown()
		before := heap()
		for i := range 100_000 {
			q.AddRateLimited(fmt.Sprint("item ", i))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for range 100_000 {
			item := get(t, q)
			q.Forget(item)
			q.Done(item)
		}
		if grown := heap() - before; grown > 1<<20 {
			t.Errorf("an empty queue retains %d KiB", grown>>10)
		}
		runtime.KeepAlive(q)
	})
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAddGetAndDoneDoNotAllocate(t *testing.T) {
	q := workqueue.New[string](nil)
	defer q.ShutDown()
	if n := testing.AllocsPerRun(1000, func() {
		q.Add("a")
		q.Add("b")
		q.Done(get(t, q))
		q.Done(get(t, q))
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// TestManyProducersAndWorkersLoseNothing adds each item many times, and checks that a worker processes it after its
// last Add.
func TestManyProducersAndWorkersLoseNothing(t *testing.T) {
	t.Parallel()
	const producers, workers, items, rounds = 8, 8, 100, 200
	q := workqueue.New[int](nil)
	var versions, seen [items]int
	var locks [items]sync.Mutex
	var producing, working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for item, ok := q.Get(t.Context()); ok; item, ok = q.Get(t.Context()) {
				locks[item].Lock()
				seen[item] = versions[item]
				locks[item].Unlock()
				q.Done(item)
			}
		})
	}
	for range producers {
		producing.Go(func() {
			for n := range items * rounds {
				item := n % items
				locks[item].Lock()
				versions[item]++
				locks[item].Unlock()
				q.Add(item)
			}
		})
	}
	producing.Wait()
	if err := q.ShutDownWithDrain(t.Context()); err != nil {
		t.Fatal(err)
	}
	working.Wait()
	if seen != versions {
		t.Errorf("the last change of some items was not processed:\n%v\n%v", seen, versions)
	}
}
