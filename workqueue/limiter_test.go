package workqueue_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/workqueue"
)

// waits asks a limiter n times about one item.
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
		{"exponential doubles up to its maximum", workqueue.NewExponential[string](ms, 5*ms), []time.Duration{ms, 2 * ms, 4 * ms, 5 * ms, 5 * ms}},
		{"fast-slow is slow after some attempts", workqueue.NewFastSlow[string](ms, 9*ms, 2), []time.Duration{ms, ms, 9 * ms, 9 * ms}},
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

func TestBucketFillsUpAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bucket := workqueue.NewBucket[string](10, 1)
		bucket.When("a")
		time.Sleep(time.Second)
		if wait := bucket.When("a"); wait != 0 {
			t.Errorf("waits %v after a second of rest", wait)
		}
	})
}

func TestExponentialNeverOverflows(t *testing.T) {
	t.Parallel()
	l := workqueue.NewExponential[string](time.Second, time.Hour)
	for range 2000 {
		if wait := l.When("a"); wait <= 0 || wait > time.Hour {
			t.Fatalf("waits %v", wait)
		}
	}
}

func TestForgetConcernsOneItem(t *testing.T) {
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
