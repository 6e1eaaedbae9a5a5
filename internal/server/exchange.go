package server

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/bowline-dev/bowline/internal/server/fair"
)

// exchange is a request and its answer as metrics, logs and traces tell of them. It is the answer's http.ResponseWriter.
type exchange struct {
	http.ResponseWriter
	route route
	begun time.Time
	// code is the answer's status, and written the length of its body so far, in bytes.
	code    int
	written int64
	// spans are the request's trace; nil while nobody traces.
	spans *spans
	// seats are what the request holds while it works, and left counts it out.
	seats fair.Seats
	left  func()
	// watch is what goes on once all that led to it has returned; nil for most.
	watch *watching
}

// leave ends the request's work for others to begin with theirs.
func (x *exchange) leave() {
	x.seats.Leave()
	x.left()
}

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(code int) {
	if x.code == 0 {
		x.code = code
	}
	x.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(data []byte) (int, error) {
	if x.code == 0 {
		x.code = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(data)
	x.written += int64(n)
	return n, err
}

// farewell is how long a client may take for the rest of its answer once the request's time is over: that may have been all that
// the answer says.
const farewell = 5 * time.Second

// cutOff gives the client little time from now on, so that none holds what it asked for by not reading it.
func (x *exchange) cutOff() {
	http.NewResponseController(x.ResponseWriter).SetWriteDeadline(time.Now().Add(farewell))
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// handler is the server as its Handler: it serves a request and tells of it, in metrics, trace and, for who wants details, the
// log. A watch that began follows its changes from here. Its goroutine waits with 4 KiB of stack as long as the frames from here
// on, with those of the HTTP server above, take less than 1.2; it would keep 8 if all that led to the watch were there, and a
// middleware too.
type handler Server

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := (*Server)(h)
	if r.Method != http.MethodGet {
		roomy(0)
	}
	x := newExchange(w, r)
	defer s.tell(x, r)
	defer s.recover(x, r)
	s.serve(x, r)
	if x.watch != nil {
		x.watch.follow()
	}
}

// Prompt implements client.Prompt: what is about one object, or a page of them, is answered at once, but for what outlasts its
// client.
func (h *handler) Prompt(r *http.Request) bool {
	if !h.prompt {
		return false
	}
	route := parseRoute(r)
	switch route.verb {
	case "get", "create", "update", "patch", "delete":
		return route.resource && !route.outlastsItsClient(r)
	case "list":
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		return err == nil && 0 < limit && limit <= promptItems
	}
	return false
}

// promptItems is how many objects a list may be of, which is kept as a whole until its caller reads it: client-go's pages are of
// that size.
const promptItems = 500

// newExchange is not part of ServeHTTP, whose frame stays on the stack of each open watch: a route is large.
//
//go:noinline
func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	return &exchange{ResponseWriter: w, route: parseRoute(r), begun: time.Now()}
}

// tell is also called for a request that panics, to end its connection.
func (s *Server) tell(x *exchange, r *http.Request) {
	if x.code == 0 { // an answer without a body
		x.code = http.StatusOK
	}
	x.spans.end()
	took := time.Since(x.begun)
	if s.log.Enabled(r.Context(), slog.LevelDebug) {
		s.log.Debug("request", "method", r.Method, "uri", r.URL.RequestURI(), "code", x.code, "took", took)
	}
	s.metrics.request(s.labels(x, r), x, took)
}
