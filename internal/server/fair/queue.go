package fair

import (
	"container/list"
	"context"
	"strings"
	"sync"
	"time"
)

// Limits are what a Queue shares out.
type Limits struct {
	// Seats are what the requests that work hold at once, in all.
	Seats int
	// Waiting is how many requests may wait at once, in all.
	Waiting int
	// Patience is how long a request waits at most; one with a deadline waits for no more than a quarter of its time.
	Patience time.Duration
}

// Queue shares out seats. Make it with New. It may be used by many goroutines.
type Queue struct {
	limits Limits

	mu    sync.Mutex
	used  int // seats
	flows map[Flow]*flow
	users map[string]*user
	// turns are the users with requests that wait, in the order in which it is their turn: *user.
	turns list.List
	stats Stats
}

// Stats are what a Queue has counted.
type Stats struct {
	// Seats are those that are held, Working the requests that hold them, and Waiting those that have none.
	Seats, Working, Waiting int
	// Started counts requests that got their seats, ever; the others those that did not, by why.
	Started, Full, Late, Gone uint64
}

// Flow is what requests belong to, and wait in the order of.
type Flow struct {
	User string
	// Program tells the programs of a user apart.
	Program string
	// Heavy requests of a program are a flow of their own, so that its light ones do not wait behind them.
	Heavy bool
}

// user is a user who has requests, or had some lately.
type user struct {
	name           string
	seats, waiting int
	// turns are the user's flows with requests that wait: *flow. place is the user's own in Queue.turns.
	turns list.List
	place *list.Element
}

// flow is a Flow with requests, or one that had some lately.
type flow struct {
	user  *user
	seats int
	// waiters are *waiter, in order; place is the flow's own in user.turns, nil while none waits.
	waiters list.List
	place   *list.Element
}

// waiter is a request without a seat. Its members are the Queue's, but for ready.
type waiter struct {
	flow  *flow
	place *list.Element // nil once it does not wait any longer
	wants int
	got   int
	ready chan struct{} // closed when it has its seats
}

// New makes a Queue.
func New(l Limits) *Queue {
	return &Queue{limits: l, flows: map[Flow]*flow{}, users: map[string]*user{}}
}

// Limits are what the queue was made with.
func (q *Queue) Limits() Limits { return q.limits }

// Stats are the counts of now.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}

// Enter waits until a request of a flow may work, and takes its seats, which the caller has to Leave. seats is what the
// request weighs, at least 1. A request that is heavier than what can be had still starts, on fewer seats, when its flow
// has nothing else at work. The error is a *Refusal, or that of ctx.
func (q *Queue) Enter(ctx context.Context, of Flow, seats int) (Seats, error) {
	q.mu.Lock()
	f := q.flow(of)
	if f.waiters.Len() == 0 {
		if got := q.fit(f, seats); got > 0 {
			q.take(f, got)
			q.mu.Unlock()
			return Seats{q, f, got}, nil
		}
	}
	if !q.mayWait(f) {
		q.stats.Full++
		refusal := &Refusal{User: of.User, Working: f.user.seats, Waiting: f.user.waiting}
		q.mu.Unlock()
		return Seats{}, refusal
	}
	w := q.line(f, seats)
	q.mu.Unlock()
	return q.wait(ctx, w)
}

// Seats are what a request holds while it works. The zero value holds none. They belong to one goroutine.
type Seats struct {
	queue *Queue
	flow  *flow
	held  int
}

// Leave gives the seats back. Leaving again does nothing.
func (s *Seats) Leave() {
	if s.queue == nil {
		return
	}
	s.queue.leave(s.flow, s.held)
	*s = Seats{}
}

// share is how much of what is left somebody gets who holds some of it and wants more: all, or nothing as long as they
// would then hold more than is left. Who holds nothing gets something, and leaves half to the next.
func share(left, held, wanted int) int {
	switch {
	case held == 0:
		return max(0, min(wanted, (left+1)/2))
	case held+wanted <= left:
		return wanted
	}
	return 0
}

// fit is how many seats a request may have now.
func (q *Queue) fit(f *flow, wanted int) int {
	return share(q.limits.Seats-q.used-f.user.seats, f.seats, wanted)
}

// mayWait says whether there is a place to wait.
func (q *Queue) mayWait(f *flow) bool {
	return share(q.limits.Waiting-q.stats.Waiting-f.user.waiting, f.waiters.Len(), 1) > 0
}

func (q *Queue) take(f *flow, seats int) {
	f.seats += seats
	f.user.seats += seats
	q.used += seats
	q.stats.Seats = q.used
	q.stats.Working++
	q.stats.Started++
}

func (q *Queue) leave(f *flow, seats int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f.seats -= seats
	f.user.seats -= seats
	q.used -= seats
	q.stats.Seats = q.used
	q.stats.Working--
	q.start()
}

// remembered is how many flows are kept: those without requests only spare the next one an allocation.
const remembered = 1024

// flow finds a flow, or makes it.
func (q *Queue) flow(of Flow) *flow {
	if f := q.flows[of]; f != nil {
		return f
	}
	if len(q.flows) >= remembered {
		q.forget()
	}
	u := q.users[of.User]
	if u == nil {
		u = &user{name: strings.Clone(of.User)}
		q.users[u.name] = u
	}
	f := &flow{user: u}
	q.flows[Flow{u.name, strings.Clone(of.Program), of.Heavy}] = f
	return f
}

// forget drops flows and users without requests.
func (q *Queue) forget() {
	for key, f := range q.flows {
		if f.seats == 0 && f.waiters.Len() == 0 {
			delete(q.flows, key)
		}
	}
	for name, u := range q.users {
		if u.seats == 0 && u.waiting == 0 {
			delete(q.users, name)
		}
	}
}
