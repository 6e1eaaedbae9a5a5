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

// Lists are postponed after maxWait of failures, but not for longer than retryInterval.
func TestFailureStreakPostponesLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, failure := &failureStreak{}, errors.New("no")
		expect := func(when string, want error) {
			t.Helper()
			if got := l.postponed(1); got != want {
				t.Errorf("%s: got %v, want %v", when, got, want)
			}
		}
		expect("before any list", nil)
		l.begin()
		l.note(failure, 1)
		expect("after the first failure", nil)
		time.Sleep(maxWait - time.Second)
		l.begin()
		l.note(failure, 1)
		expect("before maxWait", nil)
		time.Sleep(time.Second)
		expect("after maxWait", failure)
		time.Sleep(retryInterval - time.Second)
		expect("after retryInterval", nil)
		l.begin()
		expect("during the next list", failure)
		l.note(nil, 1)
		expect("after a success", nil)
		l.note(failure, 1)
		time.Sleep(maxWait)
		l.begin()
		l.note(failure, 1)
		if err := l.postponed(2); err != nil {
			t.Errorf("after the cache has advanced: got %v, want none", err)
		}
	})
}
