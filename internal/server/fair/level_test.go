package fair_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/server/fair"
)

// levelTest is a queue with levels, in a bubble.
type levelTest struct {
	*testing.T
	*fair.Queue
	classes map[string]*fair.Class
}

// testLevels runs a test with a queue of 100 seats. Each level has one class with its name.
func testLevels(t *testing.T, levels []fair.LevelConfig, test func(*levelTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &levelTest{T: t, Queue: fair.New(fair.Limits{Seats: 100, Waiting: 400, Patience: time.Second})}
		l.configure(levels)
		test(l)
		if s := l.Stats(); s.Seats != 0 || s.Working != 0 || s.Waiting != 0 {
			t.Errorf("at the end %+v", s)
		}
	})
}

func (l *levelTest) configure(levels []fair.LevelConfig) {
	var configs []fair.ClassConfig
	for _, level := range levels {
		configs = append(configs, fair.ClassConfig{Schema: level.Name, Level: level.Name})
	}
	l.classes = map[string]*fair.Class{}
	for i, c := range l.Configure(levels, configs) {
		l.classes[levels[i].Name] = c
	}
}

// take enters requests of one seat each, of different users, until one is refused.
func (l *levelTest) take(class, prefix string) (held []*fair.Seats) {
	l.Helper()
	for i := range 200 {
		s, err := l.Enter(l.Context(), fair.Flow{Class: l.classes[class], User: fmt.Sprint(prefix, i)}, 1)
		if err != nil {
			return held
		}
		held = append(held, &s)
	}
	l.Fatal("no request is refused")
	return nil
}

func leave(held []*fair.Seats) {
	for _, s := range held {
		s.Leave()
	}
}

// A level receives its part of the seats, and what others lend.
func TestLevelsShareTheSeats(t *testing.T) {
	t.Parallel()
	levels := []fair.LevelConfig{
		{Name: "exempt", Exempt: true},
		{Name: "small", Shares: 10, Borrowing: 0},     // 10 seats
		{Name: "lender", Shares: 50, Lendable: 60},    // 50 seats, 20 of them its own
		{Name: "borrower", Shares: 40, Borrowing: 50}, // 40 seats, and 20 of others
		{Name: "nothing", Shares: 0, Lendable: 0},     // none
	}
	for name, want := range map[string]int{"small": 10, "lender": 50, "borrower": 60, "nothing": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testLevels(t, levels, func(l *levelTest) {
				held := l.take(name, "")
				if len(held) != want {
					t.Errorf("%d seats, want %d", len(held), want)
				}
				leave(held)
			})
		})
	}
	testLevels(t, levels, func(l *levelTest) {
		lent := l.take("borrower", "")
		rest := l.take("lender", "")
		first, err := l.Enter(l.Context(), fair.Flow{Class: l.classes["small"], User: "new"}, 1)
		if err != nil || len(lent) != 60 || len(rest) != 30 {
			t.Errorf("%d and %d seats, then %v", len(lent), len(rest), err)
		}
		first.Leave()
		leave(lent)
		leave(rest)
	})
}

// Requests of the exempt level have no limit but that of the server, and other levels get what is free.
func TestExemptLevelTakesFromOthers(t *testing.T) {
	t.Parallel()
	levels := []fair.LevelConfig{{Name: "exempt", Exempt: true}, {Name: "a", Shares: 50}, {Name: "b", Shares: 50}}
	testLevels(t, levels, func(l *levelTest) {
		var held []*fair.Seats
		for i := range 70 {
			s, err := l.Enter(l.Context(), fair.Flow{User: fmt.Sprint(i)}, 1)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, &s)
		}
		rest := l.take("a", "")
		if len(rest) != 30 {
			t.Errorf("%d seats beside 70 exempt ones, want 30", len(rest))
		}
		leave(append(held, rest...))
	})
}

// Free seats go first to the level that holds less than its part.
func TestBorrowedSeatsReturn(t *testing.T) {
	t.Parallel()
	levels := []fair.LevelConfig{{Name: "exempt", Exempt: true},
		{Name: "a", Shares: 50, Lendable: 100, Borrowing: -1, Waiting: 100, UserWaiting: 10},
		{Name: "b", Shares: 50, Lendable: 100, Borrowing: -1, Waiting: 100, UserWaiting: 10}}
	testLevels(t, levels, func(l *levelTest) {
		last, err := l.Enter(l.Context(), fair.Flow{Class: l.classes["b"], User: "last"}, 1) // b does not lend this one
		if err != nil {
			t.Fatal(err)
		}
		held := []*fair.Seats{&last}
		for i := range 99 {
			s, err := l.Enter(l.Context(), fair.Flow{Class: l.classes["a"], User: fmt.Sprint(i)}, 1)
			if err != nil {
				t.Fatal(i, err)
			}
			held = append(held, &s)
		}
		order := make(chan string, 2)
		for _, name := range []string{"a", "b"} {
			go func() {
				s, err := l.Enter(l.Context(), fair.Flow{Class: l.classes[name], User: "waits"}, 1)
				if err != nil {
					t.Error(err)
				}
				order <- name
				s.Leave()
			}()
			synctest.Wait()
		}
		held[1].Leave()
		if first := <-order; first != "b" {
			t.Errorf("%s is first, although it borrows", first)
		}
		<-order
		leave(held)
	})
}

// The limits of waiting requests, and the errors of those beyond them.
func TestLevelsRefuse(t *testing.T) {
	t.Parallel()
	levels := []fair.LevelConfig{{Name: "exempt", Exempt: true}, {Name: "rejects", Shares: 1, Borrowing: 0},
		{Name: "queues", Shares: 1, Borrowing: 0, Waiting: 3, UserWaiting: 2}, {Name: "rest", Shares: 98}}
	testLevels(t, levels, func(l *levelTest) {
		for name, limit := range map[string]int{"rejects": 0, "queues": 2} {
			s, err := l.Enter(l.Context(), fair.Flow{Class: l.classes[name], User: "u"}, 5) // all it may have: 1
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(l.Context())
			for range limit {
				go l.Enter(ctx, fair.Flow{Class: l.classes[name], User: "u"}, 1)
			}
			synctest.Wait()
			_, err = l.Enter(l.Context(), fair.Flow{Class: l.classes[name], User: "u"}, 1)
			refusal, ok := errors.AsType[*fair.Refusal](err)
			if !ok || refusal.Rejects != (limit == 0) || !strings.Contains(err.Error(), `of user "u"`) {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
			synctest.Wait()
			s.Leave()
		}
	})
}

// Requests of a level that is removed keep their seats, and those that wait are served.
func TestRemovedLevelDrains(t *testing.T) {
	t.Parallel()
	levels := []fair.LevelConfig{{Name: "exempt", Exempt: true}, {Name: "stays", Shares: 99},
		{Name: "goes", Shares: 1, Borrowing: 0, Waiting: 10, UserWaiting: 10}}
	testLevels(t, levels, func(l *levelTest) {
		flow := fair.Flow{Class: l.classes["goes"], User: "u"}
		first, err := l.Enter(l.Context(), flow, 1)
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error)
		go func() {
			s, err := l.Enter(l.Context(), flow, 1)
			s.Leave()
			served <- err
		}()
		synctest.Wait()
		l.configure(levels[:2])
		if s := l.Stats(); s.Working != 1 || s.Waiting != 1 {
			t.Errorf("%+v, want one running and one waiting request", s)
		}
		first.Leave()
		if err := <-served; err != nil {
			t.Error(err)
		}
		l.configure(levels[:2])
		if s := l.Stats(); s.Started != 2 || len(l.Levels()) != 2 {
			t.Errorf("%+v, levels %v", s, l.Levels())
		}
	})
}

// A request that was classified before its class was removed is counted, and holds its seats in the level that exists
// now. Removed levels and classes without requests have no statistics of their own, but count in those of the queue.
func TestRemovedClassIsRestored(t *testing.T) {
	t.Parallel()
	levels := []fair.LevelConfig{{Name: "exempt", Exempt: true}, {Name: "goes", Shares: 50, Borrowing: 0},
		{Name: "stays", Shares: 50, Borrowing: 0}}
	for name, again := range map[string][]fair.LevelConfig{"removed": levels[:1], "recreated": levels} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testLevels(t, levels, func(l *levelTest) {
				flow := fair.Flow{Class: l.classes["goes"], User: "u"}
				names := func() string {
					var all []string
					for _, c := range l.Classes() {
						all = append(all, fmt.Sprint(c.Level, " ", c.Working, " of ", c.Started))
					}
					return strings.Join(all, ", ")
				}
				before, err := l.Enter(l.Context(), flow, 1)
				if err != nil {
					t.Fatal(err)
				}
				before.Leave()
				l.configure(levels[:1])
				l.configure(again)
				late, err := l.Enter(l.Context(), flow, 1)
				if err != nil {
					t.Fatal(err)
				}
				if got := names(); got != "exempt 0 of 0, goes 1 of 1" || l.Stats().Working != 1 || l.Stats().Started != 2 {
					t.Errorf("classes %s, all %+v", got, l.Stats())
				}
				l.configure(levels[:1])
				if got := names(); got != "exempt 0 of 0, goes 1 of 1" || len(l.Levels()) != 2 {
					t.Errorf("removed again: classes %s, levels %v", got, l.Levels())
				}
				late.Leave()
				if got := names(); got != "exempt 0 of 0" || len(l.Levels()) != 1 || l.Stats().Started != 2 {
					t.Errorf("at the end: classes %s, levels %v, all %+v", got, l.Levels(), l.Stats())
				}
			})
		})
	}
}

// A level whose users are many leaves room to wait to other levels, and to administrators.
func TestLevelLeavesRoomToWait(t *testing.T) {
	t.Parallel()
	level := func(name string, shares int) fair.LevelConfig {
		return fair.LevelConfig{Name: name, Shares: shares, Borrowing: -1, Waiting: 6400, UserWaiting: 300}
	}
	levels := []fair.LevelConfig{{Name: "exempt", Exempt: true}, level("flood", 50), level("other", 50)}
	testLevels(t, levels, func(l *levelTest) {
		ctx, cancel := context.WithCancel(l.Context())
		var seats []*fair.Seats
		var mu sync.Mutex
		flood := func(class string) {
			for i := range 1000 {
				go func() {
					s, err := l.Enter(ctx, fair.Flow{Class: l.classes[class], User: fmt.Sprint(i)}, 1)
					if err == nil {
						mu.Lock()
						seats = append(seats, &s)
						mu.Unlock()
					}
				}()
			}
			synctest.Wait()
		}
		flood("flood")
		if n := l.Stats().Waiting; n != 200 {
			t.Errorf("%d requests of one level wait, want half of 400", n)
		}
		flood("other")
		refused := l.Stats().Full
		for range 20 {
			go l.Enter(ctx, fair.Flow{User: "administrator"}, 1)
		}
		synctest.Wait()
		if now := l.Stats().Full; now != refused {
			t.Errorf("%d requests of an administrator were refused", now-refused)
		}
		cancel()
		synctest.Wait()
		leave(seats)
	})
}

// A refusal says by what the flows of the class were distinguished when the request began to wait.
func TestRefusalKeepsItsDistinguisher(t *testing.T) {
	t.Parallel()
	levels := []fair.LevelConfig{{Name: "exempt", Exempt: true},
		{Name: "a", Shares: 1, Borrowing: 0, Waiting: 1000, UserWaiting: 1000}, {Name: "rest", Shares: 99}}
	testLevels(t, levels, func(l *levelTest) {
		flow := fair.Flow{Class: l.classes["a"], User: "u"}
		holds, err := l.Enter(l.Context(), flow, 1)
		if err != nil {
			t.Fatal(err)
		}
		refused := make(chan error)
		go func() {
			_, err := l.Enter(l.Context(), flow, 1)
			refused <- err
		}()
		synctest.Wait()
		l.Configure(levels, []fair.ClassConfig{{Schema: "a", Level: "a", Distinguisher: fair.Same}})
		if err := <-refused; err == nil || !strings.Contains(err.Error(), `of user "u" waited`) {
			t.Error(err)
		}
		holds.Leave()
	})
}

// The queue may be configured while requests wait and give up. The race detector observes it.
func TestConfigureWhileRequestsWait(t *testing.T) {
	t.Parallel()
	q := fair.New(fair.Limits{Seats: 1, Waiting: 100, Patience: time.Microsecond})
	levels := []fair.LevelConfig{{Name: "a", Shares: 1, Borrowing: 0, Waiting: 10, UserWaiting: 10}}
	configure := func(i int) *fair.Class {
		return q.Configure(levels, []fair.ClassConfig{{Schema: "s", Level: "a",
			Distinguisher: fair.Distinguisher(i % 3)}})[0]
	}
	class := configure(0)
	holds, err := q.Enter(t.Context(), fair.Flow{Class: class, User: "holds"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 100 {
				s, _ := q.Enter(t.Context(), fair.Flow{Class: class, User: fmt.Sprint(i)}, 1)
				s.Leave()
			}
		})
	}
	all.Go(func() {
		for i := range 300 {
			configure(i)
		}
	})
	all.Wait()
	holds.Leave()
	if s := q.Stats(); s.Seats != 0 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

func BenchmarkEnterLevel(b *testing.B) {
	q := fair.New(fair.Limits{Seats: 192, Waiting: 768, Patience: time.Second})
	class := q.Configure([]fair.LevelConfig{{Name: "exempt", Exempt: true},
		{Name: "a", Shares: 20, Lendable: 50, Borrowing: -1, Waiting: 100, UserWaiting: 10}, {Name: "b", Shares: 80}},
		[]fair.ClassConfig{{Schema: "s", Level: "a"}})[0]
	b.ReportAllocs()
	for b.Loop() {
		s, err := q.Enter(b.Context(), fair.Flow{Class: class, User: "u", Program: "p"}, 1)
		if err != nil {
			b.Fatal(err)
		}
		s.Leave()
	}
}
