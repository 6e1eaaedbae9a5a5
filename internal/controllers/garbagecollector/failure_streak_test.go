package garbagecollector

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A streak starts with the first failure and ends with a success, including one that only the kind's cache
// observed.
func TestFailureStreak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, failure := &failureStreak{}, errors.New("no")
		expect := func(when string, want time.Duration) {
			t.Helper()
			if got := l.length(); got != want {
				t.Errorf("%s: got length %s, want %s", when, got, want)
			}
		}
		time.Sleep(time.Hour)
		expect("before any failure", 0)
		l.note(failure, 1)
		time.Sleep(time.Minute)
		l.note(failure, 1)
		expect("a minute after the first failure", time.Minute)
		l.note(failure, 2)
		expect("at a failure after the cache has advanced", 0)
		time.Sleep(time.Minute)
		l.note(nil, 2)
		expect("after a success", 0)
		time.Sleep(time.Minute)
		l.note(failure, 2)
		expect("at the next failure", 0)
	})
}
