package neutron

import (
	"context"
	"sync"
)

// shared combines concurrent requests of several goroutines into one, because Neutron processes ten networks
// in one request nearly as fast as one. A caller that arrives while a request is pending joins the next one,
// so each result was read or made after the caller asked for it.
type shared[K comparable, V any] struct {
	// do processes all keys of a round. ctx ends when no caller waits for the results any longer.
	do func(ctx context.Context, keys []K) map[K]answer[V]

	mu      sync.Mutex
	running sync.WaitGroup
	busy    bool
	next    *round[K, V] // the round that callers join now; nil if nobody has
}

type answer[V any] struct {
	value V
	err   error
}

// round is one request for all its callers.
type round[K comparable, V any] struct {
	ctx     context.Context
	cancel  context.CancelFunc
	keys    []K
	waiting int
	done    chan struct{} // closed when answers is set
	answers map[K]answer[V]
}

// ask adds key to the next round and waits for its result, or until ctx ends.
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

// join joins the next round, and starts it if no request is pending.
func (s *shared[K, V]) join(key K) *round[K, V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		ctx, cancel := context.WithCancel(context.Background())
		s.next = &round[K, V]{ctx: ctx, cancel: cancel, done: make(chan struct{})}
	}
	r := s.next
	r.keys = append(r.keys, key)
	r.waiting++
	if !s.busy {
		s.busy = true
		s.running.Go(s.run)
	}
	return r
}

// leave cancels a round if no caller waits for it any longer.
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

// run processes rounds until no caller has joined a new one.
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
		r.answers = s.do(r.ctx, r.keys)
		close(r.done)
	}
}

// wait waits until no request is pending.
func (s *shared[K, V]) wait() { s.running.Wait() }
