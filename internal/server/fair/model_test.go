package fair_test

import (
	"context"
	"fmt"
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
	working       []request
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
	for _, w := range m.working {
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

func (m *model) fits(q request) int {
	all, ofUser, ofFlow := m.held(q.user, q.key())
	return allowed(m.seats, all, ofUser, ofFlow, q.wants)
}

// ask reports whether the request runs now and, if not, whether it waits.
func (m *model) ask(q request) (works, waits bool) {
	all, ofUser, ofFlow := m.queued(q.user, q.key())
	if got := m.fits(q); ofFlow == 0 && got > 0 {
		q.got = got
		m.working = append(m.working, q)
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
	m.working = slices.DeleteFunc(m.working, is)
	m.waiting = slices.DeleteFunc(m.waiting, is)
	m.forgetTurns()
	for m.startOne() {
	}
}

// forgetTurns removes the users and flows without waiting requests.
func (m *model) forgetTurns() {
	m.turns = slices.DeleteFunc(m.turns, func(name string) bool {
		return !slices.ContainsFunc(m.waiting, func(q request) bool { return q.user == name || q.key() == name })
	})
}

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
			m.working = append(m.working, q)
			for _, name := range []string{user, key} {
				m.turns = append(slices.DeleteFunc(m.turns, func(n string) bool { return n == name }), name)
			}
			m.forgetTurns()
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
			in(t, limits, func(r *room) { compare(r, random, &model{seats: limits.Seats, places: limits.Waiting}) })
		})
	}
}

func compare(r *room, random *rand.Rand, m *model) {
	refused := 0
	giveUp := map[string]func(){}
	for i := range 500 {
		name := fmt.Sprint(i)
		switch active := slices.Concat(m.working, m.waiting); {
		case len(active) > 0 && random.IntN(5) < 2:
			one := active[random.IntN(len(active))].name
			m.leave(one)
			if r.entered[one] != nil {
				r.leave(one)
			} else {
				giveUp[one]()
				synctest.Wait()
			}
		default:
			ask := request{name: name, user: fmt.Sprint(random.IntN(4)), flow: fmt.Sprint(random.IntN(3)),
				wants: 1 + random.IntN(1+random.IntN(12))}
			if works, waits := m.ask(ask); !works && !waits {
				refused++
			}
			ctx, cancel := context.WithCancel(r.ctx)
			giveUp[name] = cancel
			r.askIn(ctx, name, ask.user, ask.flow, ask.wants)
		}
		var want []string
		for _, q := range m.working {
			want = append(want, q.name)
		}
		r.works(want...)
		if s := r.Stats(); s.Waiting != len(m.waiting) || s.Full != uint64(refused) || s.Seats > r.Limits().Seats {
			r.Fatalf("step %d: %d wait, %d were refused and %d seats are held; want %d, %d and at most %d",
				i, s.Waiting, s.Full, s.Seats, len(m.waiting), refused, r.Limits().Seats)
		}
		if r.Failed() {
			r.Fatalf("at step %d", i)
		}
	}
	for _, cancel := range giveUp {
		cancel()
	}
	synctest.Wait()
}
