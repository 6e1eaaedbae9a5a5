package store

import "sync"

// signal provides a channel that is closed when something happens. The channel is created only if needed.
type signal struct {
	mu sync.Mutex
	c  chan struct{}
}

// wait returns the channel that the next notification closes.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// take appends the current channel, if any, for the caller to close without holding a lock.
func (s *signal) take(waiting []chan struct{}) []chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		waiting = append(waiting, s.c)
		s.c = nil
	}
	return waiting
}

// wake closes the channels that take collected.
func wake(waiting []chan struct{}) {
	for _, c := range waiting {
		close(c)
	}
}
