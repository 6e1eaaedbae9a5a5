package fair_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/seed"
	"github.com/bowline-dev/bowline/internal/server/fair"
)

// model is a straightforward implementation of the package comment: it uses lists, and recounts everything on
// each step.
type model struct {
	seats, places int
	running       []request
	waiting       []request
	// turns are users, and flows as "user/flow", in the order in which they get free seats.
	turns []string
}

type request struct {
	name, user, flow string
	wants, got       int
}

func (q request) key() string { return q.user + "/" + q.flow }

// held returns the assigned seats: all, those of a user and those of a flow.
func (m *model) held(user, key string) (all, ofUser, ofFlow int) {
	for _, w := range m.running {
		all += w.got
		if w.user == user {
			ofUser += w.got
		}
		if w.key() == key {
			ofFlow += w.got
		}
	}
	return all, ofUser, ofFlow
}

// queued returns the numbers of waiting requests in the same way.
func (m *model) queued(user, key string) (all, ofUser, ofFlow int) {
	for _, w := range m.waiting {
		all++
		if w.user == user {
			ofUser++
		}
		if w.key() == key {
			ofFlow++
		}
	}
	return all, ofUser, ofFlow
}

// allowed applies the rule for seats: a flow may get the seats that its user may still receive, or at most
// half of them if it holds none.
func allowed(limit, all, ofUser, ofFlow, wants int) int {
	left := limit - all - ofUser
	if ofFlow == 0 {
		for got := wants; got > 0; got-- {
			if got <= left-left/2 {
				return got
			}
		}
		return 0
	}
	if ofFlow+wants > left {
		return 0
	}
	return wants
}

// fits returns the seats that the request may get now, 0 if none.
func (m *model) fits(q request) int {
	all, ofUser, ofFlow := m.held(q.user, q.key())
	return allowed(m.seats, all, ofUser, ofFlow, q.wants)
}

// enter reports whether the request runs now and, if not, whether it waits.
func (m *model) enter(q request) (runs, waits bool) {
	all, ofUser, ofFlow := m.queued(q.user, q.key())
	if got := m.fits(q); ofFlow == 0 && got > 0 {
		q.got = got
		m.running = append(m.running, q)
		return true, false
	}
	if allowed(m.places, all, ofUser, ofFlow, 1) == 0 {
		return false, false
	}
	m.waiting = append(m.waiting, q)
	for _, name := range []string{q.user, q.key()} {
		if !slices.Contains(m.turns, name) {
			m.turns = append(m.turns, name)
		}
	}
	return false, true
}

// leave ends a running or waiting request, and starts others.
func (m *model) leave(name string) {
	is := func(q request) bool { return q.name == name }
	m.running = slices.DeleteFunc(m.running, is)
	m.waiting = slices.DeleteFunc(m.waiting, is)
	m.dropIdleTurns()
	for m.startOne() {
	}
}

// dropIdleTurns removes the users and flows without waiting requests.
func (m *model) dropIdleTurns() {
	m.turns = slices.DeleteFunc(m.turns, func(name string) bool {
		return !slices.ContainsFunc(m.waiting, func(q request) bool { return q.user == name || q.key() == name })
	})
}

// startOne starts the first waiting request that fits, in the order of turns, and reports whether there is one.
func (m *model) startOne() bool {
	for _, user := range m.turns {
		for _, key := range m.turns {
			at := slices.IndexFunc(m.waiting, func(q request) bool { return q.user == user && q.key() == key })
			if at < 0 {
				continue
			}
			q := m.waiting[at]
			if q.got = m.fits(q); q.got == 0 {
				continue
			}
			m.waiting = slices.Delete(m.waiting, at, at+1)
			m.running = append(m.running, q)
			for _, name := range []string{user, key} {
				m.turns = append(slices.DeleteFunc(m.turns, func(n string) bool { return n == name }), name)
			}
			m.dropIdleTurns()
			return true
		}
	}
	return false
}

// TestQueueMatchesModel compares the queue with the model on random requests with random weights,
// some of which are canceled.
func TestQueueMatchesModel(t *testing.T) {
	t.Parallel()
	first := seed.Of(t)
	for seed := first; seed != first+20; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			limits := fair.Limits{Seats: 1 + random.IntN(40), Waiting: 1 + random.IntN(40), Patience: time.Hour}
			testQueue(t, limits, func(r *queueTest) {
				compare(r, random, &model{seats: limits.Seats, places: limits.Waiting})
			})
		})
	}
}

// compare sends and ends random requests, and compares which of them run with the model.
func compare(r *queueTest, random *rand.Rand, m *model) {
	rejected := 0
	cancels := map[string]func(){}
	for i := range 500 {
		name := fmt.Sprint(i)
		switch active := slices.Concat(m.running, m.waiting); {
		case len(active) > 0 && random.IntN(5) < 2:
			one := active[random.IntN(len(active))].name
			m.leave(one)
			if r.running[one] != nil {
				r.leave(one)
			} else {
				cancels[one]()
				synctest.Wait()
			}
		default:
			q := request{name: name, user: fmt.Sprint(random.IntN(4)), flow: fmt.Sprint(random.IntN(3)),
				wants: 1 + random.IntN(1+random.IntN(12))}
			if runs, waits := m.enter(q); !runs && !waits {
				rejected++
			}
			ctx, cancel := context.WithCancel(r.ctx)
			cancels[name] = cancel
			r.enterIn(ctx, name, q.user, q.flow, q.wants)
		}
		var want []string
		for _, q := range m.running {
			want = append(want, q.name)
		}
		r.wantRunning(want...)
		if s := r.Stats(); s.Waiting != len(m.waiting) || s.Full != uint64(rejected) || s.Seats > r.Limits().Seats {
			r.Fatalf("step %d: %d wait, %d were rejected and %d seats are held; want %d, %d and at most %d",
				i, s.Waiting, s.Full, s.Seats, len(m.waiting), rejected, r.Limits().Seats)
		}
		if r.Failed() {
			r.Fatalf("at step %d", i)
		}
	}
	for _, cancel := range cancels {
		cancel()
	}
	synctest.Wait()
}

// TestIdleLevelsHaveASeat checks that in an idle queue each level with shares receives a seat at once, whatever the
// levels reserve.
func TestIdleLevelsHaveASeat(t *testing.T) {
	t.Parallel()
	first := seed.Of(t)
	for seed := first; seed != first+200; seed++ {
		random := rand.New(rand.NewPCG(seed, 1))
		levels := []fair.LevelConfig{{Name: fair.ExemptLevel, Exempt: true,
			Shares: random.IntN(2) * random.IntN(200_000)}}
		var classes []fair.ClassConfig
		for i := range 1 + random.IntN(60) {
			l := fair.LevelConfig{Name: fmt.Sprint(i), Shares: 1 + random.IntN(200), Lendable: random.IntN(101),
				Borrowing: random.IntN(102) - 1}
			if random.IntN(10) == 0 {
				l.Shares = math.MaxInt32
			}
			levels = append(levels, l)
			classes = append(classes, fair.ClassConfig{Schema: l.Name, Level: l.Name})
		}
		q := fair.New(fair.Limits{Seats: 1 + random.IntN(200), Waiting: 100, Patience: time.Hour})
		for i, class := range q.Configure(levels, classes) {
			s, err := q.Enter(t.Context(), fair.Flow{Class: class, User: "u"}, 1)
			if err != nil {
				t.Fatalf("seed %d: %+v of %+v: %v", seed, levels[i+1], levels, err)
			}
			s.Leave()
		}
	}
}
