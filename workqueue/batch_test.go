package workqueue

import (
	"fmt"
	"slices"
	"testing"
)

// TestBatchIsGivenBackToWhatGoesBeforeIt has items taken off a long line together, as workers that are in each other's way do.
func TestBatchIsGivenBackToWhatGoesBeforeIt(t *testing.T) {
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
		{"an item of the batch that is urgent now", "low 002", High, []string{"low 002", "low 000", "low 001", "low 003"}},
	} {
		q := New[string](nil)
		for i := range batchFrom {
			q.AddWithPriority(fmt.Sprintf("low %03d", i), Low)
		}
		q.lock()
		q.takeAhead()
		q.unlock()
		if q.ahead.Load().left() != batchSize || q.Len() != batchFrom {
			t.Fatalf("a batch of %d, of %d items", q.ahead.Load().left(), q.Len())
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
			t.Errorf("%s is added: %d items, first %v, want %v", test.name, len(got), first, test.want)
		}
		q.ShutDown()
	}
}

func TestOneDoneTooManyOfAnItemInABatchLosesNothingElse(t *testing.T) {
	t.Parallel()
	q := New[int](nil)
	defer q.ShutDown()
	for i := range batchFrom {
		q.Add(i)
	}
	q.lock()
	q.takeAhead()
	q.unlock()
	q.Done(3) // of a worker that had it before
	q.AddWithPriority(1000, High)
	got := map[int]bool{}
	for q.Len() > 0 {
		item, _ := q.Get(t.Context())
		got[item] = true
		q.Done(item)
	}
	if len(got) != batchFrom || !got[1000] || got[3] {
		t.Errorf("%d items came out of %d; urgent %t", len(got), batchFrom, got[1000])
	}
}
