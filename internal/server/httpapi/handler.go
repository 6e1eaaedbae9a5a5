// Package httpapi serves the Kubernetes API over HTTP. A request goes through authentication, authorization, its
// deadline and the fair queue; then dispatch makes it a request.Request, which packages read and write turn into a
// request.Result, and package render into bytes. Errors become a Status. Watches stream what read.Feed delivers.
package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/capacity"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/aggregate"
	"github.com/bowline-dev/bowline/internal/server/connect"
	"github.com/bowline-dev/bowline/internal/server/discovery"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/flow"
	"github.com/bowline-dev/bowline/internal/server/metrics"
	"github.com/bowline-dev/bowline/internal/server/openapi"
	"github.com/bowline-dev/bowline/internal/server/operations"
	"github.com/bowline-dev/bowline/internal/server/read"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/server/write"
	"github.com/bowline-dev/bowline/internal/store"
)

// Options are what a Handler serves. All fields are required except Tracer and Why.
type Options struct {
	Store         *store.Store
	Kinds         *kind.Registry
	Authenticator auth.Authenticator
	Authorizer    auth.Authorizer
	Read          *read.Reader
	Write         *write.Writer
	// Connect answers the requests for subresources that another machine answers.
	Connect *connect.Connector
	// Aggregate finds the servers of other group versions.
	Aggregate *aggregate.Aggregator
	// Undefined returns an error if a resource is not served because its definition cannot be read.
	Undefined func(schema.GroupResource) error
	Discovery *discovery.Handler
	OpenAPI   *openapi.Handler
	Backup    *operations.Backup
	Why       http.Handler // nil for none
	OpenID    http.Handler // of the paths in package serviceaccount; nil for none
	Checks    []Check
	Metrics   *metrics.Metrics
	Tracer    trace.Tracer // nil if requests are not traced
	Fair      *fair.Queue
	// Flow assigns requests to the flows of Fair.
	Flow    *flow.Controller
	Tasks   *tasks.Group
	Log     *slog.Logger
	Version version.Info
	// Timeout bounds every request except watches, backups and requests that another machine answers. Patience is how
	// long a client may block a write of its watch.
	Timeout, Patience time.Duration
	// Prompt states that the store commits without waiting. See Handler.Prompt.
	Prompt bool
}

// Handler serves requests, and records them in metrics, the trace and, at debug level, the log.
type Handler struct {
	o               Options
	delayedRefusals atomic.Int64
	overdue         atomic.Int64 // requests that still run after they were answered
	memory          capacity.Gauge
	gzips           sync.Pool // of *gzip.Writer
}

// New returns a handler.
func New(o Options) *Handler { return &Handler{o: o} }

// exchange holds what metrics, logs and traces record of a request. It is the answer's http.ResponseWriter, and the
// body and the seats of the request.Request.
type exchange struct {
	http.ResponseWriter
	r     *http.Request
	route request.Route
	start time.Time
	// code is the answer's status, and written the length of its body so far, in bytes.
	code    int
	written int64
	// spans is nil if the request is not traced.
	spans *stage.Spans
	// seats are those that the request holds in the fair queue, and left decrements the number of requests in
	// flight.
	seats fair.Seats
	left  func()
	// bounded ends at the request's deadline, or when the client disconnects, even if the context of r does not; nil
	// for watches and backups.
	bounded context.Context
	// body is bodyUnread, bodyRead or bodyEnded.
	body atomic.Int32
	// watch is the stream to serve after the frames that opened it have returned; nil for other requests.
	watch *watching
}

// ServeHTTP implements http.Handler. It also streams watches: the goroutine of an idle watch has 4 KiB of stack as long
// as the frames from here on, together with those of net/http, take less than 1.2 KiB. With the frames that opened the
// watch, or those of a middleware, it would have 8 KiB.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		growStack(0)
	}
	x := newExchange(w, r)
	defer h.finish(x)
	h.serve(x)
	if x.watch != nil {
		x.watch.follow()
	}
}

// newExchange is not inlined into ServeHTTP, whose frame stays on the stack of each open watch: a route is large.
//
//go:noinline
func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{ResponseWriter: w, r: r, route: request.ParseRoute(r), start: time.Now()}
	if r.Body == nil || r.Body == http.NoBody {
		x.body.Store(bodyRead)
	}
	return x
}

// finish ends a request: it ends its trace, logs and counts it. It answers a panic with a 500, which keeps the process
// alive; only http.ErrAbortHandler ends the connection. finish must be deferred.
func (h *Handler) finish(x *exchange) {
	panicked := recover()
	defer func() { // also if the answer below panics
		if x.code == 0 { // an answer without a body
			x.code = http.StatusOK
		}
		x.spans.End(x.code, x.written)
		took := time.Since(x.start)
		if h.o.Log.Enabled(x.r.Context(), slog.LevelDebug) {
			h.o.Log.Debug("request", "method", x.r.Method, "uri", x.r.URL.RequestURI(), "code", x.code, "took", took)
		}
		h.o.Metrics.Request(&x.route, x.r, x.code, x.written, took)
		if panicked == http.ErrAbortHandler {
			panic(panicked)
		}
	}()
	if panicked != nil && panicked != http.ErrAbortHandler {
		h.o.Log.Error("a request panicked", "method", x.r.Method, "path", x.r.URL.Path, "panic", panicked, "stack",
			string(debug.Stack()))
		h.writeError(x, x.r, fmt.Errorf("this request panicked in the server: %v", panicked))
	}
	if panicked == nil {
		x.begin(http.StatusOK) // an answer without a body
	}
	x.limitRest()
}

// Prompt implements inprocess.Prompt: callers in the same process run such requests on their own goroutine. It returns
// true for requests about one object, or a page of objects. The exceptions are writes that continue when the client
// disconnects, kinds with a conversion webhook, and what another machine answers.
func (h *Handler) Prompt(r *http.Request) bool {
	if !h.o.Prompt {
		return false
	}
	route := request.ParseRoute(r)
	if h.o.Aggregate.Find(route.Path) != nil {
		return false
	}
	if entry, ok := h.o.Kinds.Find(route.GVR); ok && (callsWebhook(entry.Kind) ||
		entry.Kind.Info().Connects(route.Subresource) != nil) {
		return false
	}
	switch route.Verb {
	case "get", "create", "update", "patch", "delete":
		return route.IsResource && !outlivesClient(&route)
	case "list":
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		return err == nil && 0 < limit && limit <= promptItems
	}
	return false
}

// promptItems is the maximum limit of a list that is buffered until its caller reads it. It is the page size
// of client-go.
const promptItems = 500

// outlivesClient reports whether a request continues when its client disconnects: a write of a definition,
// whose commit is followed by other work.
func outlivesClient(r *request.Route) bool {
	return r.IsResource && r.GVR.GroupResource() == stored.Definitions && r.Verb != "get" && r.Verb != "list" &&
		r.Verb != "watch"
}

// growStack grows the stack of the current goroutine to the size that a write needs. Go starts with a few KiB and
// doubles the stack each time it is full, copying each frame. Growing once, before there are frames, costs a
// tenth of doubling three times later. The garbage collector shrinks the stack of a long request.
//
//go:noinline
func growStack(n int) byte {
	var room [14 << 10]byte
	return room[n]
}
