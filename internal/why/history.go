package why

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/object"
)

// subject is what runs follow each other: those of one controller on one object. Where it works on several servers, those on all
// objects of that name; see same.
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
	uid      types.UID
	revision object.Revision
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

// mergeable is the last run on the object, when this one is that once more: both did nothing and ended alike.
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

// uid is that of the object that a run was for; empty if that is not known, as after a timer.
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

// same says whether two objects of one name may be one, by their UIDs, which may be unknown. Those of two servers are not, in
// whatever way each process names its servers; nor are two objects that had the name one after the other.
func same(a, b types.UID) bool { return a == b || a == "" || b == "" }

// judge finds the writes of a run that changed nothing: those whose answer is the state that the controller knew before.
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

// learn remembers the newest state of an object.
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

func (o Object) own() Object {
	o.Namespace, o.Name = strings.Clone(o.Namespace), strings.Clone(o.Name)
	return o
}
