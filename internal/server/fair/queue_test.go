package fair_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/server/fair"
)

// queueTest is a queue whose requests have names.
type queueTest struct {
	*testing.T
	*fair.Queue
	ctx      context.Context
	mu       sync.Mutex // guards the maps
	running  map[string]*fair.Seats
	rejected map[string]error
}

// testQueue runs a test with a queue in a bubble, and checks that no seats are held at the end.
func testQueue(t *testing.T, l fair.Limits, test func(*queueTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if l.Patience == 0 {
			l.Patience = time.Minute
		}
		r := &queueTest{T: t, Queue: fair.New(l), ctx: t.Context(), running: map[string]*fair.Seats{},
			rejected: map[string]error{}}
		test(r)
		for len(r.running) > 0 {
			for name := range r.running {
				r.leave(name)
			}
		}
		if s := r.Stats(); s.Seats != 0 || s.Working != 0 || s.Waiting != 0 {
			t.Errorf("at the end %d seats are held, %d requests run and %d wait, want 0 each", s.Seats, s.Working,
				s.Waiting)
		}
	})
}

// enter sends a request and returns when it has seats, waits or was rejected.
func (r *queueTest) enter(name, user, flow string, seats int) {
	r.Helper()
	r.enterIn(r.ctx, name, user, flow, seats)
}

// enterIn is enter for a request that its context may cancel.
func (r *queueTest) enterIn(ctx context.Context, name, user, flow string, seats int) {
	go func() {
		seats, err := r.Enter(ctx, fair.Flow{User: user, Program: flow}, seats)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil {
			r.rejected[name] = err
			return
		}
		r.running[name] = &seats
	}()
	synctest.Wait()
}

// leave ends a request that has seats.
func (r *queueTest) leave(name string) {
	r.mu.Lock()
	seats := r.running[name]
	delete(r.running, name)
	r.mu.Unlock()
	seats.Leave()
	synctest.Wait()
}

// wantRunning fails the test unless exactly these requests have seats.
func (r *queueTest) wantRunning(names ...string) {
	r.Helper()
	for _, name := range names {
		if r.running[name] == nil {
			r.Errorf("%s does not run", name)
		}
	}
	if len(r.running) != len(names) {
		r.Errorf("%d requests run, want %d: %v", len(r.running), len(names), names)
	}
}

// TestFlowCannotTakeAllSeats checks that a single flow gets a third of the seats, and that the first requests of
// other flows do not wait.
func TestFlowCannotTakeAllSeats(t *testing.T) {
	t.Parallel()
	testQueue(t, fair.Limits{Seats: 12, Waiting: 100}, func(r *queueTest) {
		for i := range 20 {
			r.enter(fmt.Sprint("flood", i), "a", "a", 1)
		}
		if s := r.Stats(); s.Working != 4 || s.Waiting != 16 {
			t.Errorf("%d requests run and %d wait, want 4 and 16", s.Working, s.Waiting)
		}
		r.enter("other program", "a", "b", 1)
		r.enter("other user", "b", "a", 1)
		r.enter("third user", "c", "a", 1)
		r.wantRunning("flood0", "flood1", "flood2", "flood3", "other program", "other user", "third user")
	})
}

// TestSeatsGoToUsersInTurn checks that free seats go to the users in turn, regardless of how many requests of
// each wait.
func TestSeatsGoToUsersInTurn(t *testing.T) {
	t.Parallel()
	testQueue(t, fair.Limits{Seats: 1, Waiting: 200}, func(r *queueTest) {
		r.enter("first", "a", "", 1)
		for i := range 50 {
			r.enter(fmt.Sprint("a", i), "a", "", 1)
		}
		r.enter("b0", "b", "x", 1)
		r.enter("b1", "b", "x", 1)
		r.enter("b2", "b", "y", 1)
		r.enter("c0", "c", "", 1)
		last := "first"
		for _, next := range []string{"a0", "b0", "c0", "a1", "b2", "a2", "b1", "a3"} {
			r.leave(last)
			r.wantRunning(next)
			last = next
		}
	})
}

// TestHeavyRequestsTakeMoreSeats checks that heavy requests occupy their weight in seats. The first request
// of a flow starts with fewer seats if there are not enough.
func TestHeavyRequestsTakeMoreSeats(t *testing.T) {
	t.Parallel()
	testQueue(t, fair.Limits{Seats: 24, Waiting: 100}, func(r *queueTest) {
		r.enter("list0", "a", "", 4)
		r.enter("list1", "a", "", 4)
		r.enter("list2", "a", "", 4)
		r.enter("get", "a", "", 1)
		r.wantRunning("list0", "list1")
		r.enter("huge", "b", "", 1000)
		r.wantRunning("list0", "list1", "huge")
		if s := r.Stats(); s.Seats != 16 {
			t.Errorf("%d seats are held, want 16: a new flow gets half of the free seats", s.Seats)
		}
		r.enter("other", "c", "", 1)
		r.wantRunning("list0", "list1", "huge", "other")
		r.leave("huge")
		r.leave("list0")
		r.wantRunning("list1", "list2", "other")
		r.leave("list1")
		r.wantRunning("list2", "get", "other")
	})
}

// TestLightRequestsDoNotWaitBehindHeavyOnes checks that the heavy requests of a program do not delay its
// light ones.
func TestLightRequestsDoNotWaitBehindHeavyOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fair.New(fair.Limits{Seats: 12, Waiting: 12, Patience: time.Minute})
		working, err := q.Enter(t.Context(), fair.Flow{User: "a", Heavy: true}, 4)
		waits, light := make(chan error), make(chan error)
		go func() {
			seats, err := q.Enter(t.Context(), fair.Flow{User: "a", Heavy: true}, 4)
			seats.Leave()
			waits <- err
		}()
		synctest.Wait()
		go func() {
			seats, err := q.Enter(t.Context(), fair.Flow{User: "a"}, 1)
			seats.Leave()
			light <- err
		}()
		if err := errors.Join(err, <-light); err != nil {
			t.Error(err)
		}
		if s := q.Stats(); s.Waiting != 1 || s.Working != 1 {
			t.Errorf("%d requests wait and %d run, want one heavy request each", s.Waiting, s.Working)
		}
		working.Leave()
		if err := <-waits; err != nil {
			t.Error(err)
		}
	})
}

// TestWaitingPlacesAreShared checks that a flood is rejected, while requests of other flows may still wait.
func TestWaitingPlacesAreShared(t *testing.T) {
	t.Parallel()
	testQueue(t, fair.Limits{Seats: 1, Waiting: 12}, func(r *queueTest) {
		r.enter("working", "a", "", 1)
		for i := range 10 {
			r.enter(fmt.Sprint("a", i), "a", "", 1)
		}
		if s := r.Stats(); s.Waiting != 4 || s.Full != 6 || len(r.rejected) != 6 {
			t.Errorf("%d wait and %d were rejected, want 4 and 6", s.Waiting, s.Full)
		}
		var refusal *fair.Refusal
		if !errors.As(r.rejected["a9"], &refusal) || refusal.User != "a" || refusal.Waiting != 4 ||
			refusal.Working != 1 || refusal.Waited != 0 {
			t.Errorf("%+v", refusal)
		}
		r.enter("b", "b", "", 1)
		r.enter("other program", "a", "other", 1)
		if s := r.Stats(); s.Waiting != 6 {
			t.Errorf("%d wait, want 6", s.Waiting)
		}
	})
}

// TestEnterTimesOut checks that a request is rejected after Patience, or after a quarter of its
// time if that is shorter.
func TestEnterTimesOut(t *testing.T) {
	t.Parallel()
	testQueue(t, fair.Limits{Seats: 1, Waiting: 12, Patience: 10 * time.Second}, func(r *queueTest) {
		r.enter("working", "a", "", 1)
		began := time.Now()
		ctx, cancel := context.WithTimeout(r.ctx, 8*time.Second)
		defer cancel()
		for _, test := range []struct {
			ctx   context.Context
			waits time.Duration
		}{{r.ctx, 10 * time.Second}, {ctx, 2 * time.Second}} {
			go func() {
				_, err := r.Enter(test.ctx, fair.Flow{User: "b", Program: test.waits.String()}, 1)
				var refusal *fair.Refusal
				if took := time.Since(began); !errors.As(err, &refusal) || refusal.Waited != test.waits ||
					took != test.waits {
					t.Errorf("%v after %s, want a refusal after %s", err, took, test.waits)
				}
			}()
		}
		time.Sleep(time.Minute)
		if s := r.Stats(); s.Waiting != 0 || s.Late != 2 {
			t.Errorf("%d wait and %d timed out, want 0 and 2", s.Waiting, s.Late)
		}
	})
}

// TestCancelUnblocksRequestsBehind checks that a canceled request no longer blocks the requests behind it.
func TestCancelUnblocksRequestsBehind(t *testing.T) {
	t.Parallel()
	testQueue(t, fair.Limits{Seats: 6, Waiting: 12}, func(r *queueTest) {
		r.enter("a0", "a", "", 1)
		ctx, cancel := context.WithCancel(r.ctx)
		r.enterIn(ctx, "heavy", "a", "", 5)
		r.enter("light", "a", "", 1)
		r.wantRunning("a0")
		cancel()
		synctest.Wait()
		r.wantRunning("a0", "light")
		if s := r.Stats(); !errors.Is(r.rejected["heavy"], context.Canceled) || s.Waiting != 0 || s.Gone != 1 {
			t.Errorf("%v; %d wait, %d were canceled, want 0 and 1", r.rejected["heavy"], s.Waiting, s.Gone)
		}
		r.running["a0"].Leave()
		r.leave("a0") // a second Leave has no effect
		if s := r.Stats(); s.Seats != 1 {
			t.Errorf("%d seats are held, want 1", s.Seats)
		}
	})
}

// TestIdleFlowsAreEvicted checks that flows without requests are evicted.
func TestIdleFlowsAreEvicted(t *testing.T) {
	t.Parallel()
	q := fair.New(fair.Limits{Seats: 10, Waiting: 10, Patience: time.Minute})
	stays, err := q.Enter(t.Context(), fair.Flow{User: "stays"}, 1)
	for i := range 20_000 {
		seats, enterErr := q.Enter(t.Context(), fair.Flow{User: fmt.Sprint("user", i), Program: fmt.Sprint(i)}, 1)
		err = errors.Join(err, enterErr)
		seats.Leave()
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := q.Remembered(); n > 1100 {
		t.Errorf("%d flows are cached, want at most 1100", n)
	}
	if s := q.Stats(); s.Seats != 1 {
		t.Errorf("%d seats are held, want 1", s.Seats)
	}
	stays.Leave()
}

// TestEnterDoesNotAllocate checks that only the first request of a flow allocates.
func TestEnterDoesNotAllocate(t *testing.T) {
	q := fair.New(fair.Limits{Seats: 10, Waiting: 10, Patience: time.Minute})
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		seats, err := q.Enter(ctx, fair.Flow{User: "user", Program: "flow"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		seats.Leave()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEnter(b *testing.B) {
	q := fair.New(fair.Limits{Seats: 100, Waiting: 10, Patience: time.Minute})
	b.ReportAllocs()
	for b.Loop() {
		seats, err := q.Enter(b.Context(),
			fair.Flow{User: "kubernetes-admin", Program: "kubectl/v1.37.2 (linux/amd64) kubernetes/abcdef0"}, 1)
		if err != nil {
			b.Fatal(err)
		}
		seats.Leave()
	}
}
