package server

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/bowline-dev/bowline/internal/server/fair"
)

// exchange holds what metrics, logs and traces record of a request. It is the answer's http.ResponseWriter.
type exchange struct {
	http.ResponseWriter
	route route
	begun time.Time
	// code is the answer's status, and written the length of its body so far, in bytes.
	code    int
	written int64
	// spans is nil if the request is not traced.
	spans *spans
	// seats are those that the request holds in the fair queue, and left decrements the number of requests in
	// flight.
	seats fair.Seats
	left  func()
	// watch is the stream to serve after the frames that opened it have returned; nil for other requests.
	watch *watching
}

// leave releases the request's seats.
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

// farewell is how long a client may take to read its answer after the request's deadline.
const farewell = 5 * time.Second

// cutOff sets the deadline for writes, so that a client that does not read its answer does not hold its
// seats.
func (x *exchange) cutOff() {
	http.NewResponseController(x.ResponseWriter).SetWriteDeadline(time.Now().Add(farewell))
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// handler serves requests, and records them in metrics, the trace and, at debug level, the log. It also
// streams watches. The goroutine of an idle watch has 4 KiB of stack as long as the frames from here on,
// together with those of net/http, take less than 1.2 KiB. With the frames that opened the watch, or those of
// a middleware, it would have 8 KiB.
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

// Prompt implements inprocess.Prompt. It returns true for requests about one object, or a page of them, except
// for those that continue when their client disconnects.
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

// promptItems is the maximum limit of a list that is buffered until its caller reads it. It is the page size
// of client-go.
const promptItems = 500

// newExchange is not inlined into ServeHTTP, whose frame stays on the stack of each open watch: a route is
// large.
//
//go:noinline
func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	return &exchange{ResponseWriter: w, route: parseRoute(r), begun: time.Now()}
}

// tell records a request. It is also called for a request that panics, to end its connection.
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
