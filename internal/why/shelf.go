package why

import (
	"container/list"
	"slices"
)

// shelf is a part of the journal with its own bounds, oldest entry first.
type shelf struct {
	entries          list.List // of *entry
	bytes            int
	maxRuns, maxSize int
}

// keep puts a completed run on its shelf.
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

// moveToBack makes a repeated run the newest of its history and shelf.
func (j *Journal) moveToBack(h *history, e *entry) {
	if k := slices.Index(h.runs, e); k < len(h.runs)-1 {
		h.runs = append(slices.Delete(h.runs, k, k+1), e)
	}
	e.on.resize(e)
	e.on.entries.MoveToBack(e.place)
	j.bound(e.on)
}

// resize updates the size of an entry.
func (s *shelf) resize(e *entry) {
	s.bytes -= e.bytes
	e.bytes = e.run.size()
	s.bytes += e.bytes
}

// bound drops the oldest entries until the shelf is within its bounds.
func (j *Journal) bound(s *shelf) {
	for s.entries.Len() > s.maxRuns || s.bytes > s.maxSize && s.entries.Len() > 1 {
		j.drop(s.entries.Front().Value.(*entry))
	}
}

// drop removes a run.
func (j *Journal) drop(e *entry) {
	e.on.entries.Remove(e.place)
	e.on.bytes -= e.bytes
	delete(j.ids, e.run.ID)
	j.written.remove(e)
	s := subject{e.run.Controller, e.run.Object}
	if h := j.subjects[s]; h != nil {
		h.runs = slices.DeleteFunc(h.runs, func(x *entry) bool { return x == e })
		if len(h.runs) == 0 {
			delete(j.subjects, s)
			j.spareHistory = h
		}
	}
	if e.run.quiet() { // no other run refers to it
		j.spareEntry = e
	}
}
