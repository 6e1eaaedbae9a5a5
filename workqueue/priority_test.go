package workqueue_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/workqueue"
)

// drain dequeues all waiting items, in order.
func drain(t *testing.T, q *workqueue.Queue[string]) []string {
	t.Helper()
	var got []string
	for q.Len() > 0 {
		item := get(t, q)
		got = append(got, item)
		q.Done(item)
	}
	return got
}

func TestHigherPrioritiesComeFirst(t *testing.T) {
	t.Parallel()
	q := workqueue.New[string](nil)
	defer q.ShutDown()
	q.AddWithPriority("low", workqueue.Low)
	q.Add("first")
	q.Add("second")
	q.AddWithPriority("high", workqueue.High)
	if got, want := drain(t, q), []string{"high", "first", "second", "low"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAddRaisesPriorityOnly(t *testing.T) {
	t.Parallel()
	q := workqueue.New[string](nil)
	defer q.ShutDown()
	for _, item := range []string{"a", "b", "c"} {
		q.AddWithPriority(item, workqueue.Low)
	}
	q.Add("n")
	q.Add("b")
	q.AddWithPriority("n", workqueue.Low)
	if n := q.Len(); n != 4 {
		t.Fatalf("got %d waiting items, want 4", n)
	}
	if got, want := drain(t, q), []string{"n", "b", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPriorityRaisedDuringProcessingIsRetained(t *testing.T) {
	t.Parallel()
	q := workqueue.New[string](nil)
	defer q.ShutDown()
	q.AddWithPriority("a", workqueue.Low)
	get(t, q)
	q.Add("n")
	q.AddWithPriority("a", workqueue.Low)
	q.AddWithPriority("a", workqueue.High)
	q.Done("a")
	if got, want := drain(t, q), []string{"a", "n"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestLowPriorityIsNotStarved adds normal items faster than they are dequeued.
func TestLowPriorityIsNotStarved(t *testing.T) {
	t.Parallel()
	q := workqueue.New[string](nil)
	defer q.ShutDown()
	for i := range 100 {
		q.AddWithPriority(fmt.Sprint("low ", i), workqueue.Low)
	}
	var low []string
	for taken := range 1000 {
		q.Add(fmt.Sprint("normal ", 2*taken))
		q.Add(fmt.Sprint("normal ", 2*taken+1))
		item := get(t, q)
		if item[0] == 'l' {
			low = append(low, item)
		}
		q.Done(item)
	}
	if len(low) != 100 || low[0] != "low 0" || low[99] != "low 99" {
		t.Errorf("of 1000 items, %d were low: %v; want every ninth until all were taken, in order", len(low), low)
	}
}

// TestEachPriorityHasItsShare adds items of all three priorities faster than they are dequeued.
func TestEachPriorityHasItsShare(t *testing.T) {
	t.Parallel()
	q := workqueue.New[string](nil)
	defer q.ShutDown()
	count := map[byte]int{}
	for i := range 900 {
		for name, p := range map[string]workqueue.Priority{"high": workqueue.High, "normal": workqueue.Normal,
			"low": workqueue.Low} {
			q.AddWithPriority(fmt.Sprint(name, i), p)
		}
	}
	for range 900 {
		item := get(t, q)
		count[item[0]]++
		q.Done(item)
	}
	if count['h'] < 600 || count['n'] < 90 || count['l'] < 90 {
		t.Errorf("of 900, %d were high, %d normal and %d low; want most high, and a tenth of each other at least",
			count['h'], count['n'], count['l'])
	}
}

func TestRetryKeepsThePriority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Limiter[string](workqueue.NewExponential[string](time.Second, time.Minute)))
		defer q.ShutDown()
		q.AddWithPriority("low", workqueue.Low)
		get(t, q)
		q.AddRateLimited("low")
		q.Done("low")
		time.Sleep(2 * time.Second)
		q.Add("normal")
		if got, want := drain(t, q), []string{"normal", "low"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestDelayedItemRetainsHighestPriority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](nil)
		defer q.ShutDown()
		q.AddWithPriority("a", workqueue.Low)
		get(t, q)
		q.AddAfter("a", time.Hour) // with the priority that it had
		q.Done("a")
		q.AddAfter("a", 2*time.Hour) // too late, but somebody waits for it
		q.AddWithPriority("low", workqueue.Low)
		time.Sleep(90 * time.Minute)
		if got, want := drain(t, q), []string{"a", "low"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
