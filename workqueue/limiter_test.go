package workqueue_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/workqueue"
)

// waits returns the results of n calls of When for one item.
func waits(l workqueue.Limiter[string], n int) []time.Duration {
	var got []time.Duration
	for range n {
		got = append(got, l.When("a"))
	}
	return got
}

func TestLimiters(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, test := range []struct {
		name    string
		limiter workqueue.Limiter[string]
		want    []time.Duration
	}{
		{"exponential doubles up to its maximum", workqueue.NewExponential[string](ms, 5*ms),
			[]time.Duration{ms, 2 * ms, 4 * ms, 5 * ms, 5 * ms}},
		{"fast-slow is slow after some attempts", workqueue.NewFastSlow[string](ms, 9*ms, 2),
			[]time.Duration{ms, ms, 9 * ms, 9 * ms}},
		{"bucket lets a burst pass", workqueue.NewBucket[string](10, 2), []time.Duration{0, 0, 100 * ms, 200 * ms}},
		{"max-of is as strict as the strictest", workqueue.MaxOf[string](
			workqueue.NewExponential[string](ms, time.Hour), workqueue.NewFastSlow[string](3*ms, 5*ms, 2),
		), []time.Duration{3 * ms, 3 * ms, 5 * ms, 8 * ms}},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := waits(test.limiter, len(test.want)); !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, want %v", test.name, got, test.want)
			}
		})
	}
}

func TestBucketRefills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bucket := workqueue.NewBucket[string](10, 1)
		bucket.When("a")
		time.Sleep(time.Second)
		if wait := bucket.When("a"); wait != 0 {
			t.Errorf("got a delay of %v after a second without retries, want 0", wait)
		}
	})
}

func TestExponentialNeverOverflows(t *testing.T) {
	t.Parallel()
	l := workqueue.NewExponential[string](time.Second, time.Hour)
	for range 2000 {
		if wait := l.When("a"); wait <= 0 || wait > time.Hour {
			t.Fatalf("got a delay of %v", wait)
		}
	}
}

func TestForgetAffectsOneItem(t *testing.T) {
	t.Parallel()
	l := workqueue.DefaultLimiter[string]()
	l.When("a")
	l.When("a")
	l.When("b")
	l.Forget("a")
	if a, b := l.NumRequeues("a"), l.NumRequeues("b"); a != 0 || b != 1 {
		t.Errorf("a was requeued %d times, b %d times; want 0 and 1", a, b)
	}
}

// TestLimitersOverADay lets one item fail for a day of virtual time and counts its retries.
func TestLimitersOverADay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		limiter workqueue.Limiter[string]
		tries   int
	}{
		// 5 ms, 10 ms, ... 655.36 s are 18 waits, together 1310.715 s; then one each 1000 s.
		{"exponential", workqueue.NewExponential[string](5*time.Millisecond, 1000*time.Second), 1 + 18 + 85},
		{"fast-slow", workqueue.NewFastSlow[string](time.Second, time.Hour, 10), 1 + 10 + 23},
		{"bucket", workqueue.NewBucket[string](1.0/60, 5), 1 + 5 + 24*60},
		{"max-of", workqueue.MaxOf[string](
			workqueue.NewExponential[string](time.Hour, 6*time.Hour),
			workqueue.NewFastSlow[string](2*time.Hour, time.Hour, 1),
		), 1 + 5}, // after 2, 4, 8, 14 and 20 hours
	} {
		synctest.Test(t, func(t *testing.T) {
			q := workqueue.New(test.limiter)
			start, tries := time.Now(), 0
			time.AfterFunc(24*time.Hour+time.Second, q.ShutDown)
			q.Add("a")
			for item, ok := q.Get(t.Context()); ok; item, ok = q.Get(t.Context()) {
				tries++
				q.AddRateLimited(item)
				q.Done(item)
			}
			if tries != test.tries {
				t.Errorf("%s: got %d tries in %v, want %d", test.name, tries, time.Since(start), test.tries)
			}
		})
	}
}
