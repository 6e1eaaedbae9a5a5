package resourcequota

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/informer"
)

// A count that took long delays the next one; a short one, and one of a quota that is gone, does not.
func TestLongCountsPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pauses
		key, other := informer.Key{Namespace: "default", Name: "q"}, informer.Key{Namespace: "default", Name: "other"}
		check := func(of informer.Key, want time.Duration) {
			t.Helper()
			if got := p.next(of); got != want {
				t.Errorf("%s is counted after %v, want %v", of.Name, got, want)
			}
		}
		check(key, batchDelay)
		p.counted(key, time.Second)
		check(key, 4*time.Second)
		check(other, batchDelay)
		time.Sleep(3 * time.Second)
		check(key, time.Second)
		time.Sleep(2 * time.Second)
		check(key, batchDelay)
		p.counted(key, time.Second)
		p.counted(key, time.Millisecond)
		check(key, batchDelay)
		p.counted(key, time.Second)
		p.forget(key)
		check(key, batchDelay)
	})
}
