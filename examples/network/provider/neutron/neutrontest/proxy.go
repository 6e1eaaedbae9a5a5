package neutrontest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// Proxy is a reverse proxy to a Neutron, on its own port, that injects faults.
type Proxy struct {
	// URL is the address of the proxy.
	URL string

	to     string
	server *httptest.Server
	next   *http.Transport

	mu     sync.Mutex
	before func(Request) Answer
	after  func(Request, int) Answer
	seen   []Request
}

// Request is a request to a Proxy.
type Request struct {
	*http.Request
	// N is the number of the request, from 1.
	N int
	// What is the method and path, as in "POST /v2.0/networks".
	What string
	Sent []byte
}

// Answer is the result of a hook. The zero value forwards the request or the response. A Status replaces
// Neutron's response with an error of a Kind in Neutron's format. Cut closes the connection without a
// response. A hook may delay a request by returning late, at the latest when the request's context ends.
type Answer struct {
	Status int
	Kind   string
	Cut    bool
}

// NewProxy starts a proxy to the Neutron at a URL.
func NewProxy(to string) *Proxy {
	p := &Proxy{to: to, next: &http.Transport{MaxIdleConnsPerHost: 32}}
	p.server = httptest.NewServer(p)
	p.URL = p.server.URL
	return p
}

// Close stops the proxy and closes all connections.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
	p.next.CloseIdleConnections()
}

// SetHooks sets the hooks; nil means none. before is called when a request has arrived; after is called with
// Neutron's status when Neutron has processed it, before the client receives the response. They may be called
// concurrently.
func (p *Proxy) SetHooks(before func(Request) Answer, after func(q Request, status int) Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before, p.after = before, after
}

// Requests returns all requests that arrived, in order.
func (p *Proxy) Requests() []Request {
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
		panic(http.ErrAbortHandler) // Neutron does not answer, so neither does the proxy
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
	_, _ = w.Write(body) // a write error means that the client has gone
}

// forward sends the request to Neutron, even if the client has gone.
func (p *Proxy) forward(q Request) (*http.Response, error) {
	on, err := http.NewRequest(q.Method, p.to+q.URL.RequestURI(), bytes.NewReader(q.Sent))
	if err != nil {
		return nil, err
	}
	on.Header, on.Host = q.Header.Clone(), q.Host
	return p.next.RoundTrip(on)
}

// answer writes the response of a hook. It returns false if the request is to be forwarded.
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
