package why

import (
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/bowline-dev/bowline/client"
)

// Ongoing is a run that has not ended. Its methods may be called by many goroutines; what comes after End is not kept.
type Ongoing struct {
	journal *Journal

	mu    sync.Mutex
	run   Run
	span  trace.SpanContext
	entry *entry // in the journal's index, once it has written
	ended bool
}

// Begin begins a run. The causes are the run's from then on.
func (j *Journal) Begin(controller string, object Object, causes []Cause, more int) *Ongoing {
	now := time.Now()
	o := &Ongoing{journal: j, run: Run{
		Controller: controller, Object: object, Start: now, First: now, Times: 1, Causes: causes, MoreCauses: more,
	}}
	j.own(&o.run)
	return o
}

// Causes are why it runs. They do not change, so a goroutine may read them that outlives the run.
func (o *Ongoing) Causes() []Cause { return o.run.Causes }

// MoreCauses is how many causes it has beside those.
func (o *Ongoing) MoreCauses() int { return o.run.MoreCauses }

// Traced says which span the run is in a trace, so that those of the runs that it leads to can be linked to it.
func (o *Ongoing) Traced(span trace.SpanContext) { o.span = span }

// Note keeps what the reconciler compared.
func (o *Ongoing) Note(format string, arguments ...any) { o.keep(&o.run.Notes, format, arguments) }

// Did keeps what the reconciler did beside its writes.
func (o *Ongoing) Did(format string, arguments ...any) { o.keep(&o.run.Acts, format, arguments) }

func (o *Ongoing) keep(texts *[]string, format string, arguments []any) {
	text := tidy(fmt.Sprintf(format, arguments...))
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended && len(*texts) < maxNotes {
		*texts = append(*texts, text)
	}
}

// Wrote keeps a write that was answered. It is a function for client.Observe.
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

// End ends the run. The result is the id under which the journal has it.
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
