package why

import (
	"container/list"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/object"
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
	// What was dropped last, for what comes next.
	spareEntry   *entry
	spareHistory *history
	forward      func(Run) // where finished runs go besides; nil for nowhere
}

// subject is what runs follow each other: those of one controller on one object.
type subject struct {
	controller string
	object     Object
}

// history is what is known of a subject.
type history struct {
	subject subject
	uid     types.UID // of the object, as it was last seen
	runs    []*entry  // oldest first
	known   []seen    // the last states of objects that it saw or made, before now
	idle    rate      // of writes that changed nothing
}

// seen is the state of an object that somebody knows.
type seen struct {
	object   Object
	revision object.Revision
}

// entry is one Run in the journal. It is in the index of writers already while it runs.
type entry struct {
	run    Run
	span   trace.SpanContext
	bytes  int
	place  *list.Element // on its shelf; nil while it runs
	on     *shelf
	rounds rate // of the circle that it is part of
}

// writer is who made a state of an object.
type writer struct {
	revision object.Revision
	uid      types.UID
	entry    *entry
}

// shelf is a part of the journal with bounds of its own, oldest first.
type shelf struct {
	entries          list.List // of *entry
	bytes            int
	maxRuns, maxSize int
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
	}
}

// Forward has every run that ends in this process given to a function, which must not wait or call the journal. A run that was
// merged with the one before it is given again, with its new count.
func (j *Journal) Forward(to func(Run)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forward = to
}

// Spans are those of the runs whose writes are causes.
func (j *Journal) Spans(causes []Cause) []trace.SpanContext {
	j.mu.Lock()
	defer j.mu.Unlock()
	var spans []trace.SpanContext
	for _, e := range j.parents(&Run{Causes: causes}) {
		if e.span.IsValid() {
			spans = append(spans, e.span)
		}
	}
	return spans
}

// wrote enters a write of a run that goes on into the index: what it causes may run before this one ends.
func (j *Journal) wrote(e *entry, r *Run, span trace.SpanContext, w Write) *entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e == nil {
		e = &entry{run: Run{Controller: r.Controller, Object: r.Object, Start: r.Start, Causes: r.Causes}, span: span}
	}
	e.run.Writes = append(e.run.Writes, w)
	j.index(e, w)
	return e
}

// index notes who made a state. The oldest are forgotten with their entries, and when there are very many of one object.
func (j *Journal) index(e *entry, w Write) {
	if w.Revision == 0 && w.Verb != "delete" || w.Object.Name == "" {
		return
	}
	known := j.written[w.Object]
	if limit := 4 * j.options.Each; len(known) >= limit {
		known = slices.Delete(known, 0, len(known)-limit+1)
	}
	j.written[w.Object] = append(known, writer{w.Revision, w.UID, e})
}

// finish takes in a run of this process that has ended.
func (j *Journal) finish(e *entry, r *Run, span trace.SpanContext) (id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.history(subject{r.Controller, r.Object})
	h.judge(r)
	if last := h.mergeable(r); last != nil {
		j.merge(last, r)
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
	j.keep(h, e)
	j.pass(e)
	return r.ID
}

// disown takes the states out of the index that a run found and did not make.
func (j *Journal) disown(e *entry, r *Run) {
	for _, w := range r.Writes {
		if w.Unchanged {
			j.written[w.Object] = slices.DeleteFunc(j.written[w.Object], func(x writer) bool { return x == writer{w.Revision, w.UID, e} })
		}
	}
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
		if known := j.ids[r.ID]; known != nil {
			j.update(known, r)
			continue
		}
		e := &entry{run: *r}
		for _, w := range r.Writes {
			if w.changing() {
				j.index(e, w)
			}
		}
		j.keep(j.history(subject{r.Controller, r.Object}), e)
	}
}

// update takes over what another process says anew of a run that came once more.
func (j *Journal) update(e *entry, r *Run) {
	again := r.Times > e.run.Times && !r.Start.Before(e.run.First) && r.quiet() && e.run.quiet() &&
		r.Controller == e.run.Controller && r.Object == e.run.Object
	if !again {
		return
	}
	first := e.run.First
	e.run = *r
	e.run.First = first
	e.on.resize(e)
	e.on.entries.MoveToBack(e.place)
	j.bound(e.on)
}

// history finds what is known of a subject.
func (j *Journal) history(s subject) *history {
	h := j.subjects[s]
	if h != nil {
		return h
	}
	if h = j.spareHistory; h == nil {
		h = &history{}
	}
	j.spareHistory = nil
	*h = history{subject: s, runs: h.runs[:0]}
	j.subjects[s] = h
	return h
}

// mergeable is the last run, when this one is that once more: both did nothing and ended alike.
func (h *history) mergeable(r *Run) *entry {
	if len(h.runs) == 0 {
		return nil
	}
	last := h.runs[len(h.runs)-1]
	if !last.run.quiet() || !r.quiet() || last.run.Err != r.Err {
		return nil
	}
	return last
}

// merge makes a quiet run one with that before it.
func (j *Journal) merge(e *entry, r *Run) {
	r.ID, r.First, r.Times = e.run.ID, e.run.First, e.run.Times+1
	e.run = *r
	e.on.resize(e)
	e.on.entries.MoveToBack(e.place)
	j.bound(e.on)
}

// keep puts a run that has ended on its shelf.
func (j *Journal) keep(h *history, e *entry) {
	j.circles(h, e)
	e.on = &j.did
	if e.run.quiet() {
		e.on = &j.quiet
	}
	h.runs = append(h.runs, e)
	j.ids[e.run.ID] = e
	e.place = e.on.entries.PushBack(e)
	e.on.resize(e)
	if len(h.runs) > j.options.Each {
		j.drop(h.runs[0])
	}
	j.bound(e.on)
}

// resize counts an entry's bytes anew.
func (s *shelf) resize(e *entry) {
	s.bytes -= e.bytes
	e.bytes = e.run.size()
	s.bytes += e.bytes
}

// bound drops what a shelf has no room for.
func (j *Journal) bound(s *shelf) {
	for s.entries.Len() > s.maxRuns || s.bytes > s.maxSize && s.entries.Len() > 1 {
		j.drop(s.entries.Front().Value.(*entry))
	}
}

// drop forgets a run.
func (j *Journal) drop(e *entry) {
	e.on.entries.Remove(e.place)
	e.on.bytes -= e.bytes
	delete(j.ids, e.run.ID)
	for _, w := range e.run.Writes {
		left := slices.DeleteFunc(j.written[w.Object], func(x writer) bool { return x.entry == e })
		if len(left) == 0 {
			delete(j.written, w.Object)
		} else {
			j.written[w.Object] = left
		}
	}
	s := subject{e.run.Controller, e.run.Object}
	if h := j.subjects[s]; h != nil {
		h.runs = slices.DeleteFunc(h.runs, func(x *entry) bool { return x == e })
		if len(h.runs) == 0 {
			delete(j.subjects, s)
			j.spareHistory = h
		}
	}
	if e.run.quiet() { // nothing else points to it
		j.spareEntry = e
	}
}

// own gives a run that begins strings of its own: names may be parts of objects, which must not stay in memory for that. Most are
// those of the runs before it.
func (j *Journal) own(r *Run) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.subjects[subject{r.Controller, r.Object}]
	if h == nil {
		h = &history{subject: subject{object: r.Object.own()}}
	}
	r.Object = h.subject.object
	for k := range r.Causes {
		c := &r.Causes[k]
		c.Err = tidy(c.Err)
		if c.Object != r.Object {
			c.Object, c.UID = c.Object.own(), types.UID(strings.Clone(string(c.UID)))
			continue
		}
		if c.UID != h.uid {
			h.uid = types.UID(strings.Clone(string(c.UID)))
		}
		c.Object, c.UID = r.Object, h.uid
	}
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

func (o Object) own() Object {
	o.Namespace, o.Name = strings.Clone(o.Namespace), strings.Clone(o.Name)
	return o
}

// recent says whether something was so shortly ago that it belongs to what happens now.
func recent(then, now time.Time) bool { return now.Sub(then) <= window }
