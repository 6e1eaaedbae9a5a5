package fair

import (
	"context"
	"fmt"
	"time"
)

// Refusal is why a request may not work: too many of its user's wait already, or it has waited too long.
type Refusal struct {
	User string
	// Working are the seats that the user held, and Waiting the requests that waited for some.
	Working, Waiting int
	// Waited is how long the request has waited; 0 for one that found no place to wait.
	Waited time.Duration
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Waited > 0 {
		return fmt.Sprintf("a request of user %q waited %s behind others of that user", r.User, r.Waited)
	}
	return fmt.Sprintf("%d requests of user %q wait already, and there is no place for another", r.Waiting, r.User)
}

// line puts a request at the end of its flow's line, and its flow and user at the end of theirs, unless they have a place.
func (q *Queue) line(f *flow, wants int) *waiter {
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

// drop takes a request out of the line.
func (q *Queue) drop(w *waiter) {
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

// wait returns when a request has its seats, or is not to have any.
func (q *Queue) wait(ctx context.Context, w *waiter) (Seats, error) {
	patience := q.limits.Patience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/4)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-w.ready:
		return Seats{q, w.flow, w.got}, nil
	case <-late.C:
		return q.giveUp(w, &q.stats.Late, &Refusal{User: w.flow.user.name, Waited: patience})
	case <-ctx.Done():
		return q.giveUp(w, &q.stats.Gone, ctx.Err())
	}
}

// giveUp ends the wait of a request with an error, unless it got its seats in this moment.
func (q *Queue) giveUp(w *waiter, count *uint64, err error) (Seats, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.place == nil {
		return Seats{q, w.flow, w.got}, nil
	}
	q.drop(w)
	*count++
	q.start() // the next of its flow may want less
	return Seats{}, err
}

// start gives seats to requests that wait, as long as there are some who may have them.
func (q *Queue) start() {
	for w := q.next(); w != nil; w = q.next() {
		f, u := w.flow, w.flow.user
		q.take(f, w.got)
		if f.waiters.Len() > 1 {
			u.turns.MoveToBack(f.place)
		}
		if u.waiting > 1 {
			q.turns.MoveToBack(u.place)
		}
		q.drop(w)
		close(w.ready)
	}
}

// next is the first request, in turn, that may have seats: the first of its flow, which no other of the flow overtakes.
func (q *Queue) next() *waiter {
	for e := q.turns.Front(); e != nil && q.used < q.limits.Seats; e = e.Next() {
		for e := e.Value.(*user).turns.Front(); e != nil; e = e.Next() {
			w := e.Value.(*flow).waiters.Front().Value.(*waiter)
			if w.got = q.fit(w.flow, w.wants); w.got > 0 {
				return w
			}
		}
	}
	return nil
}
