package why

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
)

// subject identifies the runs of one controller for one object. If the controller works on several servers,
// it includes the objects of that name on all of them; see same.
type subject struct {
	controller string
	object     Object
}

// history is the record of a subject.
type history struct {
	subject subject
	uid     types.UID // latest known UID of the object
	runs    []*entry  // oldest first
	known   []seen    // latest states of objects that the runs observed or wrote
	idle    rate      // of writes without a change
}

// seen is a known state of an object.
type seen struct {
	object   Object
	uid      types.UID
	revision object.Revision
}

// history returns the history of a subject, creating it if needed.
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

// mergeable returns the latest run for the object if r only repeats it: both did nothing and had the same
// outcome.
func (h *history) mergeable(r *Run) *entry {
	if !r.quiet() {
		return nil
	}
	uid := r.uid()
	for _, last := range slices.Backward(h.runs) {
		if !same(last.uid, uid) {
			continue
		}
		if !last.run.quiet() || last.run.Err != r.Err {
			return nil
		}
		return last
	}
	return nil
}

// uid returns the UID of the reconciled object, or "" if no cause or write states it, as after a timer.
func (r *Run) uid() types.UID {
	for k := range r.Causes {
		if c := &r.Causes[k]; c.UID != "" && c.Object == r.Object {
			return c.UID
		}
	}
	for k := range r.Writes {
		if w := &r.Writes[k]; w.UID != "" && w.Object == r.Object {
			return w.UID
		}
	}
	return ""
}

// same reports whether two objects of one name may be the same. An unknown UID matches any. The UIDs of
// objects on two servers differ, and so do those of successive objects of one name.
func same(a, b types.UID) bool { return a == b || a == "" || b == "" }

// judge marks the writes that changed nothing: their response is a state that the controller already knew.
func (h *history) judge(r *Run) {
	for k := range r.Causes {
		c := &r.Causes[k]
		h.learn(c.Object, c.UID, c.Revision)
	}
	for k := range r.Writes {
		w := &r.Writes[k]
		if w.Err != "" || w.Revision == 0 {
			continue
		}
		w.Unchanged = w.Verb != "create" && w.Verb != "delete" && !w.Deleting && h.knows(w.Object, w.UID) == w.Revision
		h.learn(w.Object, w.UID, w.Revision)
	}
}

const maxSeen = 8

func (h *history) knows(o Object, uid types.UID) object.Revision {
	if s := h.seen(o, uid); s != nil {
		return s.revision
	}
	return 0
}

func (h *history) seen(o Object, uid types.UID) *seen {
	for k := range h.known {
		if s := &h.known[k]; s.object == o && same(s.uid, uid) {
			return s
		}
	}
	return nil
}

// learn records the newest state of an object.
func (h *history) learn(o Object, uid types.UID, revision object.Revision) {
	if revision == 0 {
		return
	}
	if s := h.seen(o, uid); s != nil {
		s.revision = max(s.revision, revision)
		return
	}
	if len(h.known) == maxSeen {
		h.known = slices.Delete(h.known, 0, 1)
	}
	h.known = append(h.known, seen{o.own(), uid, revision})
}

// own clones the strings of a new run, which may be parts of objects that would otherwise stay in memory. It
// reuses the strings of earlier runs.
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

func (o Object) own() Object {
	o.Namespace, o.Name = strings.Clone(o.Namespace), strings.Clone(o.Name)
	return o
}
