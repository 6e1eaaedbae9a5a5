package store

import "sync"

// signal is a channel that is closed when something happens, made only when somebody waits for it.
type signal struct {
	mu sync.Mutex
	c  chan struct{}
}

// wait is the channel that the next fire closes.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// take appends the channel that somebody waits on, if there is one, for the caller to close when it holds no lock.
func (s *signal) take(waiting []chan struct{}) []chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		waiting = append(waiting, s.c)
		s.c = nil
	}
	return waiting
}

// wake closes the channels of signals that were taken.
func wake(waiting []chan struct{}) {
	for _, c := range waiting {
		close(c)
	}
}
