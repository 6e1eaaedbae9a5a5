// Package stage names the stages of a request and traces them: a span for the request, and below it one for each
// stage. docs/request.md lists what happens in each.
package stage

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Stage is a part of the path of a request, and the name of its span.
type Stage string

// The stages, in the order of a write. A read has the stage Read in place of those from Decode to Commit.
const (
	Authenticate Stage = "authenticate" // the sender
	Authorize    Stage = "authorize"    // the verb, for the sender
	Route        Stage = "route"        // to the kind, and to the function of the verb
	Decode       Stage = "decode"       // the body, into the version of the request, with its defaults
	Convert      Stage = "convert"      // to the version that the rules work on
	Patch        Stage = "patch"        // makes the next state from the current object and the body
	Own          Stage = "own"          // records which manager set which field
	Admit        Stage = "admit"        // plugins change the object
	Validate     Stage = "validate"     // the kind and plugins reject the object
	Encode       Stage = "encode"       // to the version and the bytes that are stored
	Commit       Stage = "commit"       // to the store and its log
	Read         Stage = "read"         // from the store, for a request that only reads
	Answer       Stage = "answer"       // writes the bytes that the client receives
)

// Spans traces one request, without gaps between its stages. If a write retries after a conflict, the repeated stages
// have new spans. A nil *Spans traces nothing, at the cost of a comparison. It is safe for concurrent use, because a
// request may still run after it was answered.
type Spans struct {
	mu      sync.Mutex
	ended   bool
	tracer  trace.Tracer
	ctx     context.Context // with the request's span
	request trace.Span
	stage   trace.Span
	current Stage
}

// Start starts the span of a request and that of its first stage, Authenticate. Both began at start.
func Start(ctx context.Context, tracer trace.Tracer, name string, start time.Time,
	options ...trace.SpanStartOption) *Spans {
	p := &Spans{tracer: tracer, current: Authenticate}
	p.ctx, p.request = tracer.Start(ctx, name, append(options, trace.WithTimestamp(start))...)
	_, p.stage = tracer.Start(p.ctx, string(p.current), trace.WithTimestamp(start))
	return p
}

// At ends the current stage and starts the next.
func (p *Spans) At(next Stage) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.current == next {
		return
	}
	now := trace.WithTimestamp(time.Now())
	p.stage.End(now)
	p.current = next
	_, p.stage = p.tracer.Start(p.ctx, string(next), now)
}

// Context returns ctx with the request's span, the parent of spans that plugins start.
func (p *Spans) Context(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, p.request)
}

// End ends the last stage and the request, with the status code of the answer and the bytes of its body. It may be
// called again: a watch is traced until its stream starts, so that its trace does not stay open until the watch ends.
func (p *Spans) End(code int, written int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	now := trace.WithTimestamp(time.Now())
	p.request.SetAttributes(semconv.HTTPResponseStatusCode(code), semconv.HTTPResponseBodySize(int(written)))
	if code >= http.StatusInternalServerError {
		p.request.SetStatus(codes.Error, http.StatusText(code))
		p.stage.SetStatus(codes.Error, "")
	}
	p.stage.End(now)
	p.request.End(now)
}
