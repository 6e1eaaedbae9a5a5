package fair

import (
	"context"
	"fmt"
	"time"
)

// Refusal is the error of a request that received no seats: too many requests of its user wait, or it has waited too
// long.
type Refusal struct {
	// User is the name of the user, or of what else distinguishes the flows of the class. Distinguisher says which.
	User          string
	Distinguisher Distinguisher
	// Working is the number of seats that the user held, and Waiting of the user's waiting requests.
	Working, Waiting int
	// Waited is how long the request has waited; 0 if it was refused at once.
	Waited time.Duration
	// Rejects reports that no request of the level may wait.
	Rejects bool
}

// refusal returns the error of a request that is refused at once.
func (u *user) refusal() *Refusal {
	return &Refusal{User: u.name, Distinguisher: u.class.distinguisher, Working: u.seats, Waiting: u.waiting,
		Rejects: !u.class.level.exempt && u.class.level.maxWaiting == 0}
}

// Error implements error.
func (r *Refusal) Error() string {
	of := ""
	switch r.Distinguisher {
	case ByUser:
		of = fmt.Sprintf(" of user %q", r.User)
	case ByNamespace:
		of = fmt.Sprintf(" in namespace %q", r.User)
	}
	switch {
	case r.Waited > 0:
		return fmt.Sprintf("a request%s waited %s without receiving a seat", of, r.Waited)
	case r.Rejects:
		return fmt.Sprintf("no seat is free at the priority level of a request%s, where requests do not wait", of)
	}
	return fmt.Sprintf("%d requests%s wait already, and no more may wait", r.Waiting, of)
}

// enqueue appends a request to its flow, and its flow, user and level to the turns unless they have one.
func (q *Queue) enqueue(f *flow, wants int) *waiter {
	w := &waiter{flow: f, wants: wants, distinguisher: f.user.class.distinguisher, ready: make(chan struct{})}
	w.place = f.waiters.PushBack(w)
	u := f.user
	if f.place == nil {
		f.place = u.turns.PushBack(f)
	}
	l := u.class.level
	if u.place == nil {
		u.place = l.turns.PushBack(u)
	}
	if l.place == nil {
		l.place = q.turns.PushBack(l)
	}
	q.count(u, 1)
	return w
}

// dequeue removes a request from its flow.
func (q *Queue) dequeue(w *waiter) {
	f, u := w.flow, w.flow.user
	f.waiters.Remove(w.place)
	w.place = nil
	l := u.class.level
	q.count(u, -1)
	if f.waiters.Len() == 0 {
		u.turns.Remove(f.place)
		f.place = nil
	}
	if u.waiting == 0 {
		l.turns.Remove(u.place)
		u.place = nil
	}
	if l.waiting == 0 {
		q.turns.Remove(l.place)
		l.place = nil
	}
}

// count adds to the number of a user's waiting requests.
func (q *Queue) count(u *user, requests int) {
	u.waiting += requests
	u.class.level.waiting += requests
	u.class.stats.Waiting += requests
	q.waiting += requests
}

// wait returns when a request has received its seats, or fails.
func (q *Queue) wait(ctx context.Context, w *waiter) (Seats, error) {
	patience := q.limits.Patience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/4)
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-w.ready:
		return Seats{q, w.flow, w.got}, nil
	case <-timeout.C:
		u := w.flow.user
		return q.giveUp(w, &u.class.stats.Late,
			&Refusal{User: u.name, Distinguisher: w.distinguisher, Waited: patience})
	case <-ctx.Done():
		return q.giveUp(w, &w.flow.user.class.stats.Gone, ctx.Err())
	}
}

// giveUp ends the wait of a request with an error, unless it has just received its seats.
func (q *Queue) giveUp(w *waiter, count *uint64, err error) (Seats, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.place == nil {
		return Seats{q, w.flow, w.got}, nil
	}
	q.dequeue(w)
	*count++
	q.start() // the next request of the flow may weigh less
	return Seats{}, err
}

// start assigns seats to waiting requests as long as the limits allow.
func (q *Queue) start() {
	for w := q.next(); w != nil; w = q.next() {
		f, u := w.flow, w.flow.user
		q.assign(f, w.got)
		if f.waiters.Len() > 1 {
			u.turns.MoveToBack(f.place)
		}
		l := u.class.level
		if u.waiting > 1 {
			l.turns.MoveToBack(u.place)
		}
		if l.waiting > 1 {
			q.turns.MoveToBack(l.place)
		}
		q.dequeue(w)
		close(w.ready)
	}
}

// next returns the first waiting request, by turn, that may have seats. Levels that hold fewer seats than their share
// come before those that borrow. Only the first request of each flow is considered.
func (q *Queue) next() *waiter {
	for _, borrow := range [...]bool{false, true} {
		for e := q.turns.Front(); e != nil && q.used < q.limits.Seats; e = e.Next() {
			if l := e.Value.(*level); l.borrows() == borrow && q.left(l) > 0 {
				if w := q.nextOf(l); w != nil {
					return w
				}
			}
		}
	}
	return nil
}

// nextOf returns the first waiting request of a level, by turn, that may have seats.
func (q *Queue) nextOf(l *level) *waiter {
	for e := l.turns.Front(); e != nil; e = e.Next() {
		for e := e.Value.(*user).turns.Front(); e != nil; e = e.Next() {
			w := e.Value.(*flow).waiters.Front().Value.(*waiter)
			if w.got = q.available(w.flow, w.wants); w.got > 0 {
				return w
			}
		}
	}
	return nil
}
