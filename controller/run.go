package controller

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/why"
)

// run is one reconciliation, with its causes and its outcome. The context of Reconcile carries it.
type run struct {
	*why.Ongoing
	controller *Controller
	request    Request
	span       trace.Span // nil if tracing is disabled
}

// runKey is the context key of a *run.
type runKey struct{}

func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// Note adds a line to the run of ctx in the journal, which bowline why shows: what the reconciler compared and found.
// ctx must be derived from the context of Reconcile; with any other, Note does nothing. format and arguments are those
// of fmt.Sprintf.
func Note(ctx context.Context, format string, arguments ...any) {
	if r := runOf(ctx); r != nil {
		r.Ongoing.Note(format, arguments...)
	}
}

// Did is like Note for an action of the reconciler that is no write to the API, such as creating an external resource.
// The journal records writes itself.
func Did(ctx context.Context, format string, arguments ...any) {
	if r := runOf(ctx); r != nil {
		r.Ongoing.Did(format, arguments...)
	}
}

// Causes returns a description of each cause of the run of ctx, which must be derived from the context of Reconcile, or
// nil. Causes are merged, their number is bounded, and some may be missing: reconcilers must decide from the current
// state.
func Causes(ctx context.Context) []string {
	if r := runOf(ctx); r != nil {
		return r.causes()
	}
	return nil
}

// causes describes the causes of the run.
func (r *run) causes() []string {
	causes := r.Ongoing.Causes()
	texts := make([]string, 0, len(causes)+1)
	for _, cause := range causes {
		texts = append(texts, cause.String())
	}
	return texts
}

// Log returns a logger that adds the controller, the object and the causes of the run of ctx to each record. If ctx is
// not derived from the context of Reconcile, Log returns slog.Default.
func Log(ctx context.Context) *slog.Logger {
	if r := runOf(ctx); r != nil {
		return r.log()
	}
	return slog.Default()
}

// log returns the controller's logger with the attributes of the run.
func (r *run) log() *slog.Logger {
	return r.controller.log.With("object", r.request.String(), "cause", r.because())
}

// because returns all causes in one line.
func (r *run) because() string {
	texts := r.causes()
	if more := r.MoreCauses(); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, "; ")
}

// begin starts a run with the recorded causes of a request. The returned context carries the run.
func (c *Controller) begin(ctx context.Context, request Request) (context.Context, *run) {
	known := c.in.take(request)
	if known.list == nil {
		known.list = []why.Cause{{Kind: why.Repeated}}
	}
	object := why.ObjectOf(c.reconciled, request.Namespace, request.Name)
	r := &run{controller: c, request: request, Ongoing: c.journal.Begin(c.options.Name, object, known.list, known.more)}
	if c.tracer != nil {
		ctx = r.trace(ctx)
	}
	return client.Observe(context.WithValue(ctx, runKey{}, r), r.Wrote), r
}

// end records the outcome of a run.
func (c *Controller) end(r *run, result Result, err error) {
	id := r.End(err, result.RequeueAfter)
	switch {
	case isTerminal(err): // waits for the next change
	case err != nil:
		c.in.noteRetry(r.request, why.Cause{Kind: why.Retried, Run: id, Err: err.Error()})
	case result.RequeueAfter > 0:
		c.in.noteAfter(r.request, result.RequeueAfter, why.Cause{Kind: why.Timed})
	}
	if r.span == nil {
		return
	}
	for _, span := range r.controller.journal.Spans(r.Ongoing.Causes()) {
		r.span.AddLink(trace.Link{SpanContext: span})
	}
	if err != nil {
		r.span.SetStatus(codes.Error, err.Error())
	}
	r.span.End()
}

// trace starts the run's span, with the causes as attributes. end links it to the spans of the runs whose
// writes caused it. The links are not complete earlier: an event may arrive before the response to the write
// that caused it.
func (r *run) trace(ctx context.Context) context.Context {
	ctx, r.span = r.controller.tracer.Start(ctx, "reconcile "+r.controller.options.Name, trace.WithAttributes(
		attribute.String("bowline.controller", r.controller.options.Name),
		attribute.String("bowline.object", r.request.String()),
		attribute.StringSlice("bowline.causes", r.causes()),
	))
	r.Traced(r.span.SpanContext())
	return ctx
}

// tracer returns nil if there is no provider.
func tracer(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		return nil
	}
	return provider.Tracer("github.com/bowline-dev/bowline/controller")
}
