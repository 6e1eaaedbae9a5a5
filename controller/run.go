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

// run is one reconciliation: what caused it, and what came of it. The context of Reconcile carries it.
type run struct {
	*why.Ongoing
	controller *Controller
	request    Request
	span       trace.Span // nil when nobody traces
}

// runKey is the key of a context's *run.
type runKey struct{}

func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// Note tells the journal what a reconciler compared, and what it found, for whoever asks why. It is one line, kept with the run that
// ctx is of, as long as that is; without one it does nothing.
func Note(ctx context.Context, format string, arguments ...any) {
	if r := runOf(ctx); r != nil {
		r.Ongoing.Note(format, arguments...)
	}
}

// Did tells the journal what a reconciler did that no write to the API shows, such as to make or remove something real. It is
// kept as Note keeps what was compared.
func Did(ctx context.Context, format string, arguments ...any) {
	if r := runOf(ctx); r != nil {
		r.Ongoing.Did(format, arguments...)
	}
}

// Causes are why the run that ctx is of was made, merged and bounded. They are for telling people: what to do follows from the
// state that is read, and a cause may be missing.
func Causes(ctx context.Context) []why.Cause {
	if r := runOf(ctx); r != nil {
		return r.Ongoing.Causes()
	}
	return nil
}

// Log is the log of the run that ctx is of: each line names the controller, the object and why it is looked at. Without a run
// it is slog.Default.
func Log(ctx context.Context) *slog.Logger {
	if r := runOf(ctx); r != nil {
		return r.log()
	}
	return slog.Default()
}

// log is the controller's, with what the run is about.
func (r *run) log() *slog.Logger {
	return r.controller.log.With("object", r.request.String(), "cause", r.because())
}

// because is all causes in one line.
func (r *run) because() string {
	causes := r.Ongoing.Causes()
	texts := make([]string, 0, len(causes)+1)
	for _, cause := range causes {
		texts = append(texts, cause.String())
	}
	if more := r.MoreCauses(); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, "; ")
}

// begin takes the causes of a request that is about to be worked on. The context carries the run.
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

// end says what came of a run.
func (c *Controller) end(r *run, result Result, err error) {
	id := r.End(err, result.RequeueAfter)
	switch {
	case IsTerminal(err): // comes again when something changes
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

// trace begins the run's span, which names the causes. Before it ends it is linked to the spans of the runs whose writes they
// are: an event may be quicker than the answer to the write that it tells of, so those are not all known at the beginning.
func (r *run) trace(ctx context.Context) context.Context {
	causes := r.Ongoing.Causes()
	texts := make([]string, 0, len(causes))
	for _, cause := range causes {
		texts = append(texts, cause.String())
	}
	ctx, r.span = r.controller.tracer.Start(ctx, "reconcile "+r.controller.options.Name, trace.WithAttributes(
		attribute.String("bowline.controller", r.controller.options.Name),
		attribute.String("bowline.object", r.request.String()),
		attribute.StringSlice("bowline.causes", texts),
	))
	r.Traced(r.span.SpanContext())
	return ctx
}

// tracer makes the spans of runs; nil without a provider.
func tracer(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		return nil
	}
	return provider.Tracer("github.com/bowline-dev/bowline/controller")
}
