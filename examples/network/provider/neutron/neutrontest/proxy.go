package neutrontest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// Proxy stands between clients and a Neutron, on a port of its own, and does to what passes whatever a test wants.
type Proxy struct {
	// URL is where it listens.
	URL string

	to     string
	server *httptest.Server
	next   *http.Transport

	mu     sync.Mutex
	before func(Request) Answer
	after  func(Request, int) Answer
	seen   []Request
}

// Request is what passes a Proxy.
type Request struct {
	*http.Request
	// N counts the requests that came, from 1.
	N int
	// What is method and path, as in "POST /v2.0/networks".
	What string
	Sent []byte
}

// Answer is what a hook makes of a request. The zero value lets it go its way. A Status answers in Neutron's place, with an
// error of a Kind as Neutron writes it. Cut closes the connection without an answer. A hook that holds a request returns
// when the test wants it to, or when the request's context ends.
type Answer struct {
	Status int
	Kind   string
	Cut    bool
}

// NewProxy starts a proxy to the Neutron at an address.
func NewProxy(to string) *Proxy {
	p := &Proxy{to: to, next: &http.Transport{MaxIdleConnsPerHost: 32}}
	p.server = httptest.NewServer(p)
	p.URL = p.server.URL
	return p
}

// Close ends the proxy, and cuts what passes.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
	p.next.CloseIdleConnections()
}

// Change sets the hooks; nil is none. before is called when a request has come; after when Neutron has done it, with the
// status that it answers, before the client sees that. They may be called by several goroutines at once.
func (p *Proxy) Change(before func(Request) Answer, after func(q Request, status int) Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before, p.after = before, after
}

// Seen are the requests that came, in order, whatever became of them.
func (p *Proxy) Seen() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	p.mu.Lock()
	q := Request{Request: r, N: len(p.seen) + 1, What: r.Method + " " + r.URL.Path, Sent: sent}
	p.seen = append(p.seen, q)
	before, after := p.before, p.after
	p.mu.Unlock()
	if before != nil && answer(w, before(q)) {
		return
	}
	response, err := p.forward(q)
	if err != nil {
		panic(http.ErrAbortHandler) // there is no Neutron, and so no answer
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if after != nil && answer(w, after(q, response.StatusCode)) {
		return
	}
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(body) // who does not read it has gone
}

// forward has Neutron do what was sent, also when the client has gone since.
func (p *Proxy) forward(q Request) (*http.Response, error) {
	on, err := http.NewRequest(q.Method, p.to+q.URL.RequestURI(), bytes.NewReader(q.Sent))
	if err != nil {
		return nil, err
	}
	on.Header, on.Host = q.Header.Clone(), q.Host
	return p.next.RoundTrip(on)
}

// answer answers in Neutron's place, if that is what a hook wants.
func answer(w http.ResponseWriter, a Answer) bool {
	switch {
	case a.Cut:
		panic(http.ErrAbortHandler)
	case a.Status != 0:
		write(w, a.Status, neutronError(a.Kind, "The test says so."))
		return true
	}
	return false
}
