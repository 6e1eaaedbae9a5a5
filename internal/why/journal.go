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

// Options say how much a journal keeps. The zero value works.
type Options struct {
	// Runs and Bytes bound what is kept of all objects together; 0 means 4096 runs and 8 MiB. A quarter of each is for runs that
	// did nothing, which so never push out those that did something. Besides, 128 hot loops are kept.
	Runs, Bytes int
	// Each bounds the runs of one controller on one object; 0 means 32.
	Each int
	// Log takes the warnings about hot loops; nil is slog.Default.
	Log *slog.Logger
}

// Journal keeps the last runs of controllers, and finds those that run in circles. All its methods may be called by many
// goroutines, and none waits for anything.
type Journal struct {
	options Options
	process string // begins the ids of the runs of this process

	mu       sync.Mutex
	number   uint64 // of the last run that got an id
	subjects map[subject]*history
	ids      map[string]*entry
	did      shelf
	quiet    shelf
	written  map[Object][]writer
	loops    map[string]*Loop
	failures map[string]*Failure // by controller
	// What was dropped last, for what comes next.
	spareEntry   *entry
	spareHistory *history
	forward      func(Run) // where finished runs go besides; nil for nowhere
}

// entry is one Run in the journal. It is in the index of writers already while it runs.
type entry struct {
	run    Run
	uid    types.UID // of the object, as far as one of its runs knew it
	span   trace.SpanContext
	bytes  int
	place  *list.Element // on its shelf; nil while it runs
	on     *shelf
	rounds rate // of the circle that it is part of
}

// New makes a journal.
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
		written:  map[Object][]writer{},
		loops:    map[string]*Loop{},
		failures: map[string]*Failure{},
	}
}

// Forward has every run that ends in this process given to a function, which must not wait or call the journal. A run that was
// merged with the one before it is given again, with its new count.
func (j *Journal) Forward(to func(Run)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forward = to
}

// finish takes in a run of this process that has ended.
func (j *Journal) finish(e *entry, r *Run, span trace.SpanContext) (id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fail(r)
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
	j.disown(e, r)
	j.number++
	r.ID = j.process + strconv.FormatUint(j.number, 10)
	e.run = *r
	e.uid = r.uid()
	j.keep(h, e)
	j.pass(e)
	return r.ID
}

// pass gives a run on to where they are forwarded.
func (j *Journal) pass(e *entry) {
	if j.forward != nil {
		j.forward(e.run)
	}
}

// Take takes in runs that ended in another process, which Check has found good. What is known already only updates its count.
func (j *Journal) Take(runs []Run) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for k := range runs {
		r := &runs[k]
		r.After = nil
		j.fail(r)
		if known := j.ids[r.ID]; known != nil {
			j.update(j.history(subject{known.run.Controller, known.run.Object}), known, r)
			continue
		}
		e := &entry{run: *r, uid: r.uid()}
		for _, w := range r.Writes {
			if w.changing() {
				j.index(e, w)
			}
		}
		j.keep(j.history(subject{r.Controller, r.Object}), e)
	}
}

// update takes over what another process says anew of a run that came once more.
func (j *Journal) update(h *history, e *entry, r *Run) {
	again := r.Times > e.run.Times && !r.Start.Before(e.run.First) && r.quiet() && e.run.quiet() &&
		r.Controller == e.run.Controller && r.Object == e.run.Object
	if !again {
		return
	}
	first := e.run.First
	e.run = *r
	e.run.First = first
	j.moveToBack(h, e)
}

// merge makes a quiet run one with that before it.
func (j *Journal) merge(h *history, e *entry, r *Run) {
	r.ID, r.First, r.Times = e.run.ID, e.run.First, e.run.Times+1
	e.run = *r
	if uid := r.uid(); uid != "" {
		e.uid = uid
	}
	j.moveToBack(h, e)
}

// newEntry is an entry to fill. Runs that did nothing come and go, one in the place of another.
func (j *Journal) newEntry() *entry {
	e := j.spareEntry
	if e == nil {
		return &entry{}
	}
	j.spareEntry = nil
	*e = entry{}
	return e
}
