// Package inflight tracks the requests that a server handles, so that the server can wait for their handlers when it
// stops, and can name those that do not return. Packages https and inprocess use it.
package inflight

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Requests are the requests in flight. The zero value is ready to use. It is safe for concurrent use.
type Requests struct {
	mu     sync.Mutex
	closed bool
	first  *Request
	idle   chan struct{} // nil until Wait is called; closed when no request is left
}

// Request is one request in flight. It is an element of a doubly linked list: a map would cost several times as much
// for each request.
type Request struct {
	set            *Requests
	previous, next *Request
	method         string
	url            *url.URL
	began          time.Time
}

// Begin adds a request, which ends when the caller calls End. It returns false, and does not add the request, after
// Close.
func (s *Requests) Begin(r *http.Request) (*Request, bool) {
	q := &Request{set: s, method: r.Method, url: r.URL, began: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	if q.next = s.first; q.next != nil {
		q.next.previous = q
	}
	s.first = q
	return q, true
}

// End removes the request. It must be called once.
func (q *Request) End() {
	s := q.set
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.next != nil {
		q.next.previous = q.previous
	}
	if q.previous != nil {
		q.previous.next = q.next
	} else {
		s.first = q.next
	}
	if s.first == nil && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// Close makes Begin return false from now on.
func (s *Requests) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Wait waits until no request is in flight. If ctx ends first, Wait returns an error that names those that are. The
// caller has called Close.
func (s *Requests) Wait(ctx context.Context) error {
	s.mu.Lock()
	if s.first == nil {
		s.mu.Unlock()
		return nil
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	if names := s.names(); len(names) > 0 {
		return fmt.Errorf("requests do not end: %s", strings.Join(names, ", "))
	}
	return nil
}

// maxNames is the number of requests that an error names.
const maxNames = 10

// names describes the requests, the oldest first.
func (s *Requests) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for q := s.first; q != nil; q = q.next {
		names = append(names, fmt.Sprintf("%s %s (for %v)", q.method, q.url.EscapedPath(),
			time.Since(q.began).Round(time.Millisecond)))
	}
	slices.Reverse(names)
	if more := len(names) - maxNames; more > 0 {
		names = append(names[:maxNames], fmt.Sprintf("and %d more", more))
	}
	return names
}
