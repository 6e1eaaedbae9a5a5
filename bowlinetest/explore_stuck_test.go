package bowlinetest

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// A long sleep must not cost one beat per second.
func TestWatchdogChecksLongSleepsRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		w := watchdog{maxTime: maxVirtualTime}
		stop := w.beat()
		time.Sleep(time.Minute)
		if n := w.beats.Load(); n < 60 {
			t.Errorf("got %d beats in a minute", n)
		}
		time.Sleep(30 * 24 * time.Hour)
		if n := w.beats.Load(); n > 1200 || w.exceeded.Load() {
			t.Errorf("got %d beats in 30 days", n)
		}
		stop()
	})
}

// synctest detects a deadlock only in a bubble without active timers.
func TestWatchdogEndsAfterTwentyYears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		w := watchdog{maxTime: maxVirtualTime}
		w.beat() // never stopped: a leaked goroutine would fail the test
		time.Sleep(21 * 365 * 24 * time.Hour)
		if n := w.beats.Load(); !w.exceeded.Load() || n > 1800 {
			t.Errorf("off is %v after %d beats", w.exceeded.Load(), n)
		}
	})
}

// silent is a server that answers no request.
type silent struct{}

func (silent) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no answer") }

// All commits of a setup, and all requests that a process sends at once, happen in one instant of virtual
// time, which may take long in real time.
func TestWatchdogCountsCommitsAndRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watchdog
		h := fault.NewHistory()
		w.history.Store(h)
		last, err := h.Load(t.Context(), log.Loading{})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Append(t.Context(),
			[]log.Commit{{Revision: last + 1, Changes: make([]log.Change, 1)}}); err != nil {
			t.Fatal(err)
		}
		if n := w.progress(); n != 1 {
			t.Errorf("got progress %d after a commit", n)
		}
		r := fault.NewRun(fault.Options{History: h, Next: silent{}, Down: time.Minute})
		w.faults.Store(r)
		p := r.Start(t.Context(), "test", func(ctx context.Context, config *rest.Config) error {
			_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default").Get(ctx, "a", metav1.GetOptions{})
			return err
		})
		synctest.Wait()
		if n := w.progress(); n != 2 {
			t.Errorf("got progress %d after a commit and a request", n)
		}
		p.Stop()
		p.Wait()
	})
}

// deep blocks at the end of a stack as long as the runtime prints.
func deep(depth int, until chan struct{}) {
	if depth > 0 {
		deep(depth-1, until)
		return
	}
	<-until
}

func TestBubbleStacksAreFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		until, many := make(chan struct{}), 1000
		for range many {
			go deep(100, until)
		}
		synctest.Wait()
		found, size := goroutinesOf(ownBubble()), 0
		for _, stack := range found {
			size += len(stack)
		}
		if len(found) < many || size < 4<<20 {
			t.Errorf("found %d of %d goroutines, %d bytes", len(found), many, size)
		}
		close(until)
	})
}
