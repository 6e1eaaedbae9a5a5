package why

import (
	"container/list"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
)

// Options bound a journal. The zero value works.
type Options struct {
	// Runs and Bytes bound the runs of all objects; 0 means 4096 runs and 8 MiB. A quarter of each is
	// reserved for runs that did nothing, so that these never push out the others. In addition, up to 128 hot
	// loops are retained.
	Runs, Bytes int
	// Each bounds the runs of one controller for one object; 0 means 32.
	Each int
	// Log receives warnings about hot loops; nil means slog.Default.
	Log *slog.Logger
}

// Journal retains the latest runs of controllers and detects hot loops. Its methods are safe for concurrent
// use and do not block.
type Journal struct {
	options Options
	process string // prefix of this process's run IDs

	mu       sync.Mutex
	number   uint64 // of the last ID
	subjects map[subject]*history
	ids      map[string]*entry
	did      shelf
	quiet    shelf
	written  writers
	loops    hotLoops
	failures failures
	// Dropped values, for reuse.
	spareEntry   *entry
	spareHistory *history
	forward      func(Run) // receives completed runs; may be nil
}

// entry is a run in the journal. The index of writers refers to it already while the run is in progress.
type entry struct {
	run    Run
	uid    types.UID // of the object, if any of its runs knew it
	span   trace.SpanContext
	bytes  int
	place  *list.Element // on its shelf; nil while in progress
	on     *shelf
	rounds rate // of the loop that it is part of
}

// New returns a journal.
func New(o Options) *Journal {
	if o.Runs <= 0 {
		o.Runs = 4096
	}
	if o.Bytes <= 0 {
		o.Bytes = 8 << 20
	}
	if o.Each <= 0 {
		o.Each = 32
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Journal{
		options:  o,
		process:  fmt.Sprintf("%08x-", rand.Uint32()),
		subjects: map[subject]*history{},
		ids:      map[string]*entry{},
		did:      shelf{maxRuns: max(o.Runs-o.Runs/4, 1), maxSize: o.Bytes - o.Bytes/4},
		quiet:    shelf{maxRuns: max(o.Runs/4, 1), maxSize: o.Bytes / 4},
		written:  writers{limit: 4 * o.Each, by: map[Object][]writer{}},
		loops:    hotLoops{log: o.Log, by: map[string]*Loop{}},
		failures: failures{},
	}
}

// Forward passes every run that completes in this process to a function, which must not block or call the
// journal. If a run is merged with the previous one, it is passed again with the new count.
func (j *Journal) Forward(to func(Run)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forward = to
}

// finish records a completed run of this process.
func (j *Journal) finish(e *entry, r *Run, span trace.SpanContext) (id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failures.record(r)
	h := j.history(subject{r.Controller, r.Object})
	h.judge(r)
	if last := h.mergeable(r); last != nil {
		j.merge(h, last, r)
		j.pass(last)
		return last.run.ID
	}
	if e == nil {
		e = j.newEntry()
		e.span = span
	}
	j.written.disown(e, r)
	j.number++
	r.ID = j.process + strconv.FormatUint(j.number, 10)
	e.run = *r
	e.uid = r.uid()
	j.keep(h, e)
	j.pass(e)
	return r.ID
}

// pass forwards a run.
func (j *Journal) pass(e *entry) {
	if j.forward != nil {
		j.forward(e.run)
	}
}

// Take records completed runs of another process, which Check has validated. Runs that are already known only
// update counts.
func (j *Journal) Take(runs []Run) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for k := range runs {
		r := &runs[k]
		r.After = nil
		j.failures.record(r)
		if known := j.ids[r.ID]; known != nil {
			j.update(j.history(subject{known.run.Controller, known.run.Object}), known, r)
			continue
		}
		e := &entry{run: *r, uid: r.uid()}
		for _, w := range r.Writes {
			if w.changing() {
				j.written.index(e, w)
			}
		}
		j.keep(j.history(subject{r.Controller, r.Object}), e)
	}
}

// update replaces a known run by a repetition that another process reports.
func (j *Journal) update(h *history, e *entry, r *Run) {
	repeated := r.Times > e.run.Times && !r.Start.Before(e.run.First) && r.quiet() && e.run.quiet() &&
		r.Controller == e.run.Controller && r.Object == e.run.Object
	if !repeated {
		return
	}
	first := e.run.First
	e.run = *r
	e.run.First = first
	j.moveToBack(h, e)
}

// merge merges a quiet run into the previous one.
func (j *Journal) merge(h *history, e *entry, r *Run) {
	r.ID, r.First, r.Times = e.run.ID, e.run.First, e.run.Times+1
	e.run = *r
	if uid := r.uid(); uid != "" {
		e.uid = uid
	}
	j.moveToBack(h, e)
}

// newEntry returns an empty entry, reusing a dropped one.
func (j *Journal) newEntry() *entry {
	e := j.spareEntry
	if e == nil {
		return &entry{}
	}
	j.spareEntry = nil
	*e = entry{}
	return e
}
