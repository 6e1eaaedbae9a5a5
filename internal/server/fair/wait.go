package fair

import (
	"context"
	"fmt"
	"time"
)

// Refusal is the error of a request that received no seats: too many requests of its user wait, or it has waited too
// long.
type Refusal struct {
	User string
	// Working is the number of seats that the user held, and Waiting of the user's waiting requests.
	Working, Waiting int
	// Waited is how long the request has waited; 0 if it was refused at once.
	Waited time.Duration
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Waited > 0 {
		return fmt.Sprintf("a request of user %q waited %s without receiving a seat", r.User, r.Waited)
	}
	return fmt.Sprintf("%d requests of user %q wait already, and no more may wait", r.Waiting, r.User)
}

// enqueue appends a request to its flow, and its flow and user to the turns unless they have one.
func (q *Queue) enqueue(f *flow, wants int) *waiter {
	w := &waiter{flow: f, wants: wants, ready: make(chan struct{})}
	w.place = f.waiters.PushBack(w)
	u := f.user
	if f.place == nil {
		f.place = u.turns.PushBack(f)
	}
	if u.place == nil {
		u.place = q.turns.PushBack(u)
	}
	u.waiting++
	q.stats.Waiting++
	return w
}

// dequeue removes a request from its flow.
func (q *Queue) dequeue(w *waiter) {
	f, u := w.flow, w.flow.user
	f.waiters.Remove(w.place)
	w.place = nil
	u.waiting--
	q.stats.Waiting--
	if f.waiters.Len() == 0 {
		u.turns.Remove(f.place)
		f.place = nil
	}
	if u.waiting == 0 {
		q.turns.Remove(u.place)
		u.place = nil
	}
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
		return q.giveUp(w, &q.stats.Late, &Refusal{User: w.flow.user.name, Waited: patience})
	case <-ctx.Done():
		return q.giveUp(w, &q.stats.Gone, ctx.Err())
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
		if u.waiting > 1 {
			q.turns.MoveToBack(u.place)
		}
		q.dequeue(w)
		close(w.ready)
	}
}

// next returns the first waiting request, by turn, that may have seats. Only the first of each flow is
// considered.
func (q *Queue) next() *waiter {
	for e := q.turns.Front(); e != nil && q.used < q.limits.Seats; e = e.Next() {
		for e := e.Value.(*user).turns.Front(); e != nil; e = e.Next() {
			w := e.Value.(*flow).waiters.Front().Value.(*waiter)
			if w.got = q.available(w.flow, w.wants); w.got > 0 {
				return w
			}
		}
	}
	return nil
}
