package why

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// What makes a hot loop. A controller that takes several steps, or two that bring something about together, come round a few
// times; one that runs in a circle comes round without end.
const (
	window      = time.Minute
	idleRuns    = 5  // in a window: those with a write that changes nothing
	rounds      = 20 // in a window: each run the consequence of the one before it
	maxSteps    = 64 // back from one round to the one before
	maxLoops    = 128
	maxParts    = 8 // of each list of a Loop
	warnAgain   = time.Minute
	forgetLoops = 10 * time.Minute
)

// Loop is controllers that work without getting anywhere.
type Loop struct {
	// Controllers are who takes part, in the order in which each leads to the next. Of very many it has the first eight, as of
	// the Objects and Subjects.
	Controllers []string `json:"controllers"`
	// Objects are what they write, and Subjects what they reconcile.
	Objects  []Object `json:"objects"`
	Subjects []Object `json:"subjects,omitempty"`
	// Unchanged is that what is written is what is there already. Else each write leads to the next.
	Unchanged bool `json:"unchanged,omitempty"`
	// Times is how often it went round from First to Last, as far as it was seen.
	Times int       `json:"times"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`

	warned time.Time
}

// String says what is wrong, and what to do.
func (l *Loop) String() string {
	who, what := strings.Join(l.Controllers, " and "), l.Objects[0].String()
	switch {
	case l.Unchanged:
		return fmt.Sprintf("%s writes %s without changing it: it should compare before it writes", who, what)
	case len(l.Controllers) == 1:
		return fmt.Sprintf("%s leads to itself: each of its writes to %s makes it write again", who, what)
	case len(l.Objects) == 1:
		return fmt.Sprintf("%s undo each other: they write %s in turn, each because of the other's write", who, what)
	}
	return fmt.Sprintf("%s keep each other going: each write of one leads to one of the other, the last to %s", who, what)
}

// rate are the times of the last events, oldest first, as many as make a hot loop.
type rate []time.Time

// add is the rate with one event more; hot says that it has reached the limit within the window.
func (r rate) add(now time.Time, limit int) (next rate, hot bool) {
	next = append(make(rate, 0, limit), r[max(0, len(r)-limit+1):]...)
	next = append(next, now)
	return next, len(next) == limit && recent(next[0], now)
}

// circles looks whether a run that has ended is one round more of a hot loop.
func (j *Journal) circles(h *history, e *entry) {
	now := e.run.end()
	var hot bool
	if k := slices.IndexFunc(e.run.Writes, func(w Write) bool { return w.Unchanged }); k >= 0 {
		if h.idle, hot = h.idle.add(now, idleRuns); hot {
			j.name(Loop{
				Controllers: []string{e.run.Controller}, Objects: []Object{e.run.Writes[k].Object}, Subjects: []Object{e.run.Object},
				Unchanged: true, First: h.idle[0],
			}, now, idleRuns)
		}
	}
	if !slices.ContainsFunc(e.run.Writes, func(w Write) bool { return w.changing() }) {
		return
	}
	path := j.back(e)
	if path == nil || advances(e, path) {
		return
	}
	before := path[len(path)-1]
	if e.rounds, hot = before.rounds.add(now, rounds); hot {
		loop := circleOf(path)
		loop.First = e.rounds[0]
		j.name(loop, now, rounds)
	}
}

// advances says whether a run got further than the one that the path leads back to: it writes to other objects than that did, or
// the round only makes objects, or only takes some away, as who makes a hundred of them one after the other does.
func advances(e *entry, path []*entry) bool {
	before := path[len(path)-1]
	made, removed := false, false
	for _, of := range append([]*entry{e}, path[:len(path)-1]...) {
		for k := range of.run.Writes {
			w := &of.run.Writes[k]
			made = made || w.changing() && (w.Verb == "create" || w.Status == http.StatusCreated) // by an apply
			removed = removed || w.changing() && strings.HasPrefix(w.Verb, "delete")
		}
	}
	if made != removed {
		return true
	}
	return !made && !slices.ContainsFunc(e.run.Writes, func(w Write) bool {
		return w.changing() && slices.ContainsFunc(before.run.Writes, func(b Write) bool { return b.changing() && b.Object == w.Object })
	})
}

// back is the way from a run to the one of the same controller and object that led to it, without itself; nil if none did.
func (j *Journal) back(e *entry) []*entry {
	type step struct {
		entry *entry
		from  int
	}
	steps := []step{{e, -1}}
	for k := 0; k < len(steps) && len(steps) < maxSteps; k++ {
		for _, parent := range j.parents(&steps[k].entry.run) {
			known := slices.ContainsFunc(steps, func(s step) bool { return s.entry == parent })
			if known || !recent(parent.run.Start, e.run.Start) {
				continue
			}
			steps = append(steps, step{parent, k})
			if parent.run.Controller == e.run.Controller && e.run.continues(&parent.run) {
				path := []*entry{}
				for at := len(steps) - 1; at > 0; at = steps[at].from {
					path = append(path, steps[at].entry)
				}
				slices.Reverse(path)
				return path
			}
		}
	}
	return nil
}

// continues says whether a run is for the object of another one before it: for the same, or for one that it made under that name.
// Who made it works on the same server.
func (r *Run) continues(before *Run) bool {
	uid := r.uid()
	return r.Object == before.Object && (same(before.uid(), uid) || slices.ContainsFunc(before.Writes, func(w Write) bool {
		return w.Object == r.Object && w.UID == uid
	}))
}

// circleOf are the controllers of a way round, and what they write to lead to each other.
func circleOf(path []*entry) Loop {
	var loop Loop
	slices.Reverse(path) // from the first to the last
	for _, e := range path {
		loop.Controllers = with(loop.Controllers, e.run.Controller)
		loop.Subjects = with(loop.Subjects, e.run.Object)
		for k := range e.run.Writes {
			if w := &e.run.Writes[k]; w.changing() {
				loop.Objects = with(loop.Objects, w.Object)
			}
		}
	}
	if len(loop.Objects) == 0 { // all of them run yet
		loop.Objects = []Object{path[0].run.Object}
	}
	return loop
}

// with is a list of a Loop with one part more, if it does not have it and is not full.
func with[T comparable](list []T, part T) []T {
	if len(list) == maxParts || slices.Contains(list, part) {
		return list
	}
	return append(list, part)
}

// name keeps a hot loop, and warns of it now and then.
func (j *Journal) name(found Loop, now time.Time, times int) {
	for _, objects := range [][]Object{found.Objects, found.Subjects} {
		slices.SortFunc(objects, func(a, b Object) int { return strings.Compare(a.String(), b.String()) })
	}
	key := fmt.Sprint(found.Unchanged, slices.Sorted(slices.Values(found.Controllers)), found.Subjects)
	loop := j.loops[key]
	if loop == nil {
		j.forgetLoops(now)
		loop = &found
		loop.Times = times - 1
		j.loops[key] = loop
	}
	loop.Times++
	loop.Objects, loop.Last = found.Objects, now
	if now.Sub(loop.warned) < warnAgain {
		return
	}
	loop.warned = now
	j.options.Log.Warn("hot loop: "+loop.String(), "times", loop.Times, "since", loop.First)
}

// forgetLoops makes room for another one.
func (j *Journal) forgetLoops(now time.Time) {
	for key, l := range j.loops {
		if now.Sub(l.Last) > forgetLoops || len(j.loops) >= maxLoops {
			delete(j.loops, key)
		}
	}
}

// recent says whether something was so shortly ago that it belongs to what happens now.
func recent(then, now time.Time) bool { return now.Sub(then) <= window }
