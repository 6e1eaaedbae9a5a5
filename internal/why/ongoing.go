package why

import (
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/bowline-dev/bowline/client"
)

// Ongoing is a run in progress. Its methods are safe for concurrent use; calls after End record nothing.
type Ongoing struct {
	journal *Journal

	mu    sync.Mutex
	run   Run
	span  trace.SpanContext
	entry *entry // in the journal's index, after the first write
	ended bool
}

// Begin starts a run. It takes ownership of causes; more is the number of further causes.
func (j *Journal) Begin(controller string, object Object, causes []Cause, more int) *Ongoing {
	now := time.Now()
	o := &Ongoing{journal: j, run: Run{
		Controller: controller, Object: object, Start: now, First: now, Times: 1, Causes: causes, MoreCauses: more,
	}}
	j.own(&o.run)
	return o
}

// Causes returns the causes of the run, which never change.
func (o *Ongoing) Causes() []Cause { return o.run.Causes }

// MoreCauses returns the number of further causes.
func (o *Ongoing) MoreCauses() int { return o.run.MoreCauses }

// Traced sets the trace span of the run, so that the spans of runs that it causes can link to it.
func (o *Ongoing) Traced(span trace.SpanContext) { o.span = span }

// Note records what the reconciler compared.
func (o *Ongoing) Note(format string, arguments ...any) { o.keep(&o.run.Notes, format, arguments) }

// Did records what the reconciler did besides API writes.
func (o *Ongoing) Did(format string, arguments ...any) { o.keep(&o.run.Acts, format, arguments) }

func (o *Ongoing) keep(texts *[]string, format string, arguments []any) {
	text := tidy(fmt.Sprintf(format, arguments...))
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended && len(*texts) < maxNotes {
		*texts = append(*texts, text)
	}
}

// Wrote records a completed write. It is an observer for client.Observe.
func (o *Ongoing) Wrote(w client.Write) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.ended:
	case len(o.run.Writes) == maxWrites:
		o.run.MoreWrites++
	default:
		write := writeOf(w)
		o.run.Writes = append(o.run.Writes, write)
		if write.Err == "" {
			o.entry = o.journal.wrote(o.entry, &o.run, o.span, write)
		}
	}
}

// End ends the run and returns the ID under which the journal has it.
func (o *Ongoing) End(err error, requeueAfter time.Duration) (id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.run.Duration = time.Since(o.run.Start)
	o.run.RequeueAfter = requeueAfter
	if err != nil {
		o.run.Err = tidy(err.Error())
	}
	return o.journal.finish(o.entry, &o.run, o.span)
}
