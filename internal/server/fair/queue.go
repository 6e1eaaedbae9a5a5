package fair

import (
	"container/list"
	"context"
	"strings"
	"sync"
	"time"
)

// Limits are the capacity of a Queue.
type Limits struct {
	// Seats is the total number of seats.
	Seats int
	// Waiting is the maximum number of waiting requests.
	Waiting int
	// Patience is how long a request waits at most. A request with a deadline waits for at most a quarter of
	// its time.
	Patience time.Duration
}

// Queue assigns seats to requests. Create it with New. It is safe for concurrent use.
type Queue struct {
	limits Limits

	mu            sync.Mutex
	used, waiting int // seats, and requests without seats
	flows         map[Flow]*flow
	users         map[userKey]*user
	// turns are the levels with waiting requests, in the order of their turns: *level.
	turns list.List
	// exempt is the class of flows without one. levels and classes are those of the last Configure, and the classes
	// removed since then that have requests.
	exempt  *Class
	levels  map[string]*level
	classes map[classKey]*Class
	// reserved is the sum of the levels' reserves.
	reserved int
	// past counts the requests of removed classes.
	past Stats
}

// Stats are the statistics of a Queue, or of one of its classes.
type Stats struct {
	// Seats is the number of assigned seats, Working of requests that hold them, and Waiting of requests
	// without seats.
	Seats, Working, Waiting int
	// Started counts the requests that received seats. Full, Late and Gone count the requests that did not:
	// no room to wait, a wait that exceeded Patience, and a context that ended.
	Started, Full, Late, Gone uint64
}

// Flow groups requests. Those of one flow wait in order.
type Flow struct {
	// Class has the limits of the flow; nil is the exempt class.
	Class *Class
	// User is the name of the user, or of what else distinguishes the flows of the class.
	User string
	// Program distinguishes the programs of a user, or the users if something else distinguishes the flows.
	Program string
	// Heavy requests of a program have their own flow, so that its light requests do not wait behind them.
	Heavy bool
}

// userKey identifies a user in a class.
type userKey struct {
	class *Class
	name  string
}

// user is a user with requests in a class, now or recently.
type user struct {
	userKey
	seats, waiting int
	// turns are the user's flows with waiting requests: *flow. place is the user's element in level.turns.
	turns list.List
	place *list.Element
}

// flow is a Flow with requests, now or recently.
type flow struct {
	user  *user
	seats int
	// waiters are *waiter, in order. place is the flow's element in user.turns, nil if none waits.
	waiters list.List
	place   *list.Element
}

// waiter is a request without a seat. The Queue's mutex guards its fields, except distinguisher and ready.
type waiter struct {
	flow  *flow
	place *list.Element // nil once it no longer waits
	wants int
	got   int
	// distinguisher is that of the class when the request began to wait; it does not change.
	distinguisher Distinguisher
	ready         chan struct{} // closed when it has received its seats
}

// New returns a Queue.
func New(l Limits) *Queue {
	q := &Queue{limits: l, flows: map[Flow]*flow{}, users: map[userKey]*user{}, levels: map[string]*level{},
		classes: map[classKey]*Class{}}
	q.exempt = q.class(ClassConfig{Schema: ExemptLevel, Level: ExemptLevel}, q.level(ExemptLevel))
	q.exempt.level.exempt = true
	return q
}

// Limits returns the limits of the queue.
func (q *Queue) Limits() Limits { return q.limits }

// Exempt returns the class of flows without one.
func (q *Queue) Exempt() *Class { return q.exempt }

// Stats returns the current statistics.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	sum := q.past
	for _, c := range q.classes {
		sum.add(c.stats)
	}
	return sum
}

// add adds the statistics of a class.
func (s *Stats) add(of Stats) {
	s.Seats += of.Seats
	s.Working += of.Working
	s.Waiting += of.Waiting
	s.Started += of.Started
	s.Full += of.Full
	s.Late += of.Late
	s.Gone += of.Gone
}

// Enter waits until a request of a flow receives its seats, which the caller must give back with Leave. seats
// is the request's weight, at least 1. If fewer seats are available, the request starts with fewer, provided
// its flow holds none. The error is a *Refusal, or that of ctx.
func (q *Queue) Enter(ctx context.Context, of Flow, seats int) (Seats, error) {
	if of.Class == nil {
		of.Class = q.exempt
	}
	q.mu.Lock()
	if of.Class.removed {
		of.Class = q.restore(of.Class)
	}
	f := q.flow(of)
	if f.waiters.Len() == 0 {
		if got := q.available(f, seats); got > 0 {
			q.assign(f, got)
			q.mu.Unlock()
			return Seats{q, f, got}, nil
		}
	}
	if !q.mayWait(f) {
		of.Class.stats.Full++
		refusal := f.user.refusal()
		q.mu.Unlock()
		return Seats{}, refusal
	}
	w := q.enqueue(f, seats)
	q.mu.Unlock()
	return q.wait(ctx, w)
}

// Seats are the seats of a request. The zero value holds none. They belong to one goroutine.
type Seats struct {
	queue *Queue
	flow  *flow
	held  int
}

// Leave gives the seats back. Further calls have no effect.
func (s *Seats) Leave() {
	if s.queue == nil {
		return
	}
	s.queue.release(s.flow, s.held)
	*s = Seats{}
}

// share returns how much of the rest a holder receives that wants more: everything it wants, or nothing if it
// would then hold more than the rest. A holder of nothing receives at most half of the rest.
func share(left, held, wanted int) int {
	switch {
	case held == 0:
		return max(0, min(wanted, (left+1)/2))
	case held+wanted <= left:
		return wanted
	}
	return 0
}

// available returns how many seats a request may have now.
func (q *Queue) available(f *flow, wanted int) int {
	seats := share(q.limits.Seats-q.used-f.user.seats, f.seats, wanted)
	switch left := q.left(f.user.class.level); {
	case seats <= left:
		return seats
	case f.seats == 0:
		return max(0, left)
	}
	return 0
}

// mayWait reports whether a request of the flow may wait.
func (q *Queue) mayWait(f *flow) bool {
	free := q.limits.Waiting - q.waiting
	return f.user.class.level.mayWait(f.user, free) && share(free-f.user.waiting, f.waiters.Len(), 1) > 0
}

func (q *Queue) assign(f *flow, seats int) {
	class := f.user.class
	q.occupy(f, seats)
	class.stats.Working++
	class.stats.Started++
}

// occupy adds to the seats of a flow; a negative number releases some.
func (q *Queue) occupy(f *flow, seats int) {
	class := f.user.class
	l := class.level
	q.reserved -= l.reserve()
	f.seats += seats
	f.user.seats += seats
	l.used += seats
	q.used += seats
	class.stats.Seats += seats
	q.reserved += l.reserve()
}

func (q *Queue) release(f *flow, seats int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.occupy(f, -seats)
	f.user.class.stats.Working--
	q.start()
}

// maxFlows is the number of flows at which those without requests are removed. Until then they save allocations.
const maxFlows = 1024

// flow returns a flow. It creates it on first use.
func (q *Queue) flow(of Flow) *flow {
	if f := q.flows[of]; f != nil {
		return f
	}
	if len(q.flows) >= maxFlows {
		q.removeIdle()
	}
	u := q.users[userKey{of.Class, of.User}]
	if u == nil {
		u = &user{userKey: userKey{of.Class, strings.Clone(of.User)}}
		q.users[u.userKey] = u
	}
	f := &flow{user: u}
	q.flows[Flow{u.class, u.name, strings.Clone(of.Program), of.Heavy}] = f
	return f
}

// removeIdle removes flows and users without requests.
func (q *Queue) removeIdle() {
	for key, f := range q.flows {
		if f.seats == 0 && f.waiters.Len() == 0 {
			delete(q.flows, key)
		}
	}
	for key, u := range q.users {
		if u.seats == 0 && u.waiting == 0 {
			delete(q.users, key)
		}
	}
}
