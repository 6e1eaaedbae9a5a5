package neutron

import (
	"context"
	"sync"
)

// shared joins what several goroutines ask for at a time into one request, because Neutron deals with ten networks at once nearly
// as quickly as with one. Who comes while a request is under way is part of the next: so each is answered with what was read, or
// done, after it had asked.
type shared[K comparable, V any] struct {
	// do answers all who ask. ctx ends when nobody waits for the answers any longer.
	do func(ctx context.Context, asked []K) map[K]answer[V]

	mu      sync.Mutex
	running sync.WaitGroup
	busy    bool
	next    *round[K, V] // who came since the request that is under way began; nil for none
}

type answer[V any] struct {
	value V
	err   error
}

// round is one request for all who wait.
type round[K comparable, V any] struct {
	ctx     context.Context
	cancel  context.CancelFunc
	asked   []K
	waiting int
	done    chan struct{} // closed when answers are there
	answers map[K]answer[V]
}

// ask waits for an answer, or until ctx ends.
func (s *shared[K, V]) ask(ctx context.Context, key K) (V, error) {
	r := s.join(key)
	defer s.leave(r)
	select {
	case <-r.done:
		a := r.answers[key]
		return a.value, a.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

// join takes part in the next round, and has that begin if nothing is under way.
func (s *shared[K, V]) join(key K) *round[K, V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		ctx, cancel := context.WithCancel(context.Background())
		s.next = &round[K, V]{ctx: ctx, cancel: cancel, done: make(chan struct{})}
	}
	r := s.next
	r.asked = append(r.asked, key)
	r.waiting++
	if !s.busy {
		s.busy = true
		s.running.Go(s.run)
	}
	return r
}

// leave ends a round that nobody waits for any longer.
func (s *shared[K, V]) leave(r *round[K, V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.waiting--; r.waiting > 0 {
		return
	}
	r.cancel()
	if s.next == r {
		s.next = nil
	}
}

// run does one round after the other, until nobody asks.
func (s *shared[K, V]) run() {
	for {
		s.mu.Lock()
		r := s.next
		s.next = nil
		s.busy = r != nil
		s.mu.Unlock()
		if r == nil {
			return
		}
		r.answers = s.do(r.ctx, r.asked)
		close(r.done)
	}
}

// wait waits until nothing is under way.
func (s *shared[K, V]) wait() { s.running.Wait() }
