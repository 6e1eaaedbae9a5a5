package workqueue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// TestBatchYieldsToHigherPriority adds an item of a higher priority while a batch is not used up.
func TestBatchYieldsToHigherPriority(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		added string
		at    Priority
		want  []string
	}{
		{"nothing", "", Low, []string{"low 000", "low 001", "low 002", "low 003"}},
		{"something urgent", "urgent", Normal, []string{"urgent", "low 000", "low 001", "low 002"}},
		{"an item of the batch", "low 002", Low, []string{"low 000", "low 001", "low 002", "low 003"}},
		{"an item of the batch that is urgent now", "low 002", High,
			[]string{"low 002", "low 000", "low 001", "low 003"}},
	} {
		q := New[string](nil)
		for i := range batchFrom {
			q.AddWithPriority(fmt.Sprintf("low %03d", i), Low)
		}
		q.lock()
		q.dequeueBatch()
		q.unlock()
		if q.ahead.Load().left() != batchSize || q.Len() != batchFrom {
			t.Fatalf("got a batch of %d of %d items", q.ahead.Load().left(), q.Len())
		}
		if test.added != "" {
			q.AddWithPriority(test.added, test.at)
		}
		var got []string
		for want := q.Len(); want > 0; want-- {
			item, _ := q.Get(t.Context())
			got = append(got, item)
			q.Done(item)
		}
		first := slices.Clone(got[:len(test.want)])
		slices.Sort(got)
		if !slices.Equal(first, test.want) || len(slices.Compact(got)) != len(got) || q.Len() != 0 {
			t.Errorf("after adding %s: got %d items, the first %v; want %v", test.name, len(got), first, test.want)
		}
		q.ShutDown()
	}
}

func TestExtraDoneInBatchIsHarmless(t *testing.T) {
	t.Parallel()
	q := New[int](nil)
	defer q.ShutDown()
	for i := range batchFrom {
		q.Add(i)
	}
	q.lock()
	q.dequeueBatch()
	q.unlock()
	q.Done(3) // of a worker that had it before
	q.AddWithPriority(-1, High)
	got := map[int]bool{}
	for q.Len() > 0 {
		item, _ := q.Get(t.Context())
		got[item] = true
		q.Done(item)
	}
	if len(got) != batchFrom || !got[-1] || got[3] {
		t.Errorf("got %d items and the urgent one: %t; want %d and true", len(got), got[-1], batchFrom)
	}
}

// TestTurnsRestart checks that an item of an earlier batch is not regarded as part of the current one after the turns
// wrap.
func TestTurnsRestart(t *testing.T) {
	t.Parallel()
	q := New[int](nil)
	defer q.ShutDown()
	q.entries.turn = math.MaxUint32 - batchSize
	for i := range batchFrom + batchSize {
		q.Add(i)
	}
	for range 2 {
		q.lock()
		q.dequeueBatch()
		q.unlock()
		for range batchSize {
			q.Get(t.Context())
		}
	}
	if q.entries.turn != batchSize {
		t.Errorf("the last turn is %d", q.entries.turn)
	}
	for i := range 2 * batchSize {
		q.Add(i) // which all are worked on
		q.Done(i)
	}
	if want := batchFrom + batchSize; q.Len() != want {
		t.Errorf("%d wait, want %d", q.Len(), want)
	}
}

// TestAddToLongQueueHappensBeforeGet checks that the worker that dequeues an item sees all writes before its last Add,
// whether the item was waiting, in a batch, being processed or new.
func TestAddToLongQueueHappensBeforeGet(t *testing.T) {
	t.Parallel()
	q := New[int](nil)
	const items = 2 * batchFrom
	var written, seen [items]atomic.Int64
	var producing, working sync.WaitGroup
	var batches atomic.Int64
	for i := range items {
		q.Add(i)
	}
	for p := range uint64(4) {
		producing.Go(func() {
			random := rand.New(rand.NewPCG(1, p))
			for range 20_000 {
				i := random.IntN(items)
				written[i].Add(1)
				q.Add(i)
			}
		})
		working.Go(func() {
			for i, ok := q.Get(t.Context()); ok; i, ok = q.Get(t.Context()) {
				if q.ahead.Load().left() > 0 {
					batches.Add(1)
				}
				seen[i].Store(written[i].Load())
				for range 20 {
					runtime.Gosched() // and others may add it again
				}
				q.Done(i)
			}
		})
	}
	producing.Wait()
	q.ShutDown()
	working.Wait()
	for i := range items {
		if seen[i].Load() != written[i].Load() {
			t.Errorf("item %d was last processed after %d of %d writes", i, seen[i].Load(), written[i].Load())
		}
	}
	t.Logf("%d items were taken while others were ahead", batches.Load())
}
