package why

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
)

// writer identifies the run that wrote a state of an object.
type writer struct {
	revision object.Revision
	uid      types.UID
	entry    *entry
}

// writers is the index of the runs that wrote the known states of each object. The journal's lock guards it.
type writers struct {
	limit int // of states per object
	by    map[Object][]writer
}

// wrote indexes a write of a run in progress, because runs that it causes may start before this run ends.
func (j *Journal) wrote(e *entry, r *Run, span trace.SpanContext, w Write) *entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e == nil {
		e = &entry{run: Run{Controller: r.Controller, Object: r.Object, Start: r.Start, Causes: r.Causes}, span: span}
	}
	e.run.Writes = append(e.run.Writes, w)
	j.written.index(e, w)
	return e
}

// index records the writer of a state. Old ones are removed with their entries, or if one object has too
// many.
func (ws *writers) index(e *entry, w Write) {
	if w.Revision == 0 && w.Verb != "delete" || w.Object.Name == "" {
		return
	}
	known := ws.by[w.Object]
	if len(known) >= ws.limit {
		known = slices.Delete(known, 0, len(known)-ws.limit+1)
	}
	ws.by[w.Object] = append(known, writer{w.Revision, w.UID, e})
}

// disown removes states from the index that a run found unchanged.
func (ws *writers) disown(e *entry, r *Run) {
	for _, w := range r.Writes {
		if w.Unchanged {
			ws.by[w.Object] = slices.DeleteFunc(ws.by[w.Object], func(of writer) bool {
				return of == writer{w.Revision, w.UID, e}
			})
		}
	}
}

// remove removes a dropped run from the index.
func (ws *writers) remove(e *entry) {
	for _, w := range e.run.Writes {
		left := slices.DeleteFunc(ws.by[w.Object], func(of writer) bool { return of.entry == e })
		if len(left) == 0 {
			delete(ws.by, w.Object)
		} else {
			ws.by[w.Object] = left
		}
	}
}

// parents returns the runs whose writes caused a run.
func (ws *writers) parents(r *Run) []*entry {
	var found []*entry
	for k := range r.Causes {
		c := &r.Causes[k]
		for _, w := range ws.by[c.Object] {
			if c.madeBy(w.revision, w.uid) && !slices.Contains(found, w.entry) {
				found = append(found, w.entry)
			}
		}
	}
	return found
}

// madeBy reports whether a write with this response is part of the cause.
func (c *Cause) madeBy(revision object.Revision, uid types.UID) bool {
	switch {
	case c.Kind != Changed || revision == 0 || !same(uid, c.UID):
		return false
	case c.Change == Added:
		return revision == c.Revision || uid == c.UID && uid != "" && revision < c.Revision
	case c.Since == 0:
		return revision == c.Revision
	}
	return c.Since < revision && revision <= c.Revision
}

// Spans returns the spans of the runs whose writes are among the causes.
func (j *Journal) Spans(causes []Cause) []trace.SpanContext {
	j.mu.Lock()
	defer j.mu.Unlock()
	var spans []trace.SpanContext
	for _, e := range j.written.parents(&Run{Causes: causes}) {
		if e.span.IsValid() {
			spans = append(spans, e.span)
		}
	}
	return spans
}
