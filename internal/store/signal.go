package store

import "sync"

// signal wakes the goroutines that wait for an event, by closing a channel. The channel is created only if a
// goroutine waits.
type signal struct {
	mu sync.Mutex
	c  chan struct{}
}

// wait returns a channel that is closed after the next call of detach.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// detach appends the current channel, if any, to waiting. The caller passes waiting to wake once it has released its
// locks; later calls of wait return a new channel.
func (s *signal) detach(waiting []chan struct{}) []chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		waiting = append(waiting, s.c)
		s.c = nil
	}
	return waiting
}

// wake closes the channels that detach collected.
func wake(waiting []chan struct{}) {
	for _, c := range waiting {
		close(c)
	}
}
