package store

import (
	"sync"

	"github.com/bowline-dev/bowline/object"
)

// topic is what the watchers of one prefix share: how far the events that concern them reach, and a channel to wake
// them by. Commits look topics up by prefix, so that a commit costs the same for one watcher and for a thousand, and
// nobody is woken for what does not concern it.
type topic struct {
	feed *feed
	// end is the number after the last event of the feed that concerns the prefix; the state's lock guards it.
	end uint64
	// dropped is the number after the last such event that the history has dropped; the state's lock guards it.
	dropped uint64
	// watchers is how many there are; the state's lock guards it.
	watchers int

	wake signal
}

// subscribe returns the topic of a prefix, with one watcher more. Of a new one it is not known which events concern it,
// so all do. The state's lock is held.
func (h *history) subscribe(prefix object.Key) *topic {
	t := h.topics[prefix]
	if t == nil {
		f := h.feed(levels(prefix)[0])
		t = &topic{feed: f, end: f.end()}
		h.topics[prefix] = t
	}
	t.watchers++
	return t
}

// unsubscribe takes a watcher away. The state's lock is held.
func (h *history) unsubscribe(prefix object.Key) {
	t := h.topics[prefix]
	t.watchers--
	if t.watchers == 0 {
		delete(h.topics, prefix)
	}
}

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
