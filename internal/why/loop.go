package why

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Thresholds of hot loops. Controllers that need several steps, or that cooperate, cycle a few times; a hot
// loop does not end.
const (
	window      = time.Minute
	idleRuns    = 5  // per window, with a write that changes nothing
	rounds      = 20 // per window, each caused by the previous one
	maxSteps    = 64 // from one round back to the previous one
	maxLoops    = 128
	maxParts    = 8 // of each list of a Loop
	warnAgain   = time.Minute
	forgetLoops = 10 * time.Minute
)

// Loop is a hot loop: controllers that run without making progress.
type Loop struct {
	// Controllers lists the participants, each of which causes the next. Controllers, Objects and Subjects
	// list at most eight each.
	Controllers []string `json:"controllers"`
	// Objects lists the objects written, and Subjects the ones reconciled.
	Objects  []Object `json:"objects"`
	Subjects []Object `json:"subjects,omitempty"`
	// Unchanged reports that the writes change nothing. Otherwise each write causes the next.
	Unchanged bool `json:"unchanged,omitempty"`
	// Times is the number of rounds observed between First and Last.
	Times int       `json:"times"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`

	warned time.Time
}

// String describes the problem and the remedy.
func (l *Loop) String() string {
	who, what := strings.Join(l.Controllers, " and "), l.Objects[0].String()
	switch {
	case l.Unchanged:
		return fmt.Sprintf("%s writes %s without changing it: it should compare before it writes", who, what)
	case len(l.Controllers) == 1:
		return fmt.Sprintf("%s triggers itself: each of its writes to %s causes the next", who, what)
	case len(l.Objects) == 1:
		return fmt.Sprintf("%s undo each other's changes: whenever one writes %s, the other writes it again", who,
			what)
	}
	return fmt.Sprintf("%s trigger each other: each write of one causes a write of the other, the last one to %s", who,
		what)
}

// rate holds the times of the latest events, oldest first, up to the threshold of a hot loop.
type rate []time.Time

// add returns the rate with one more event, and reports whether the limit was reached within the window.
func (r rate) add(now time.Time, limit int) (next rate, hot bool) {
	next = append(make(rate, 0, limit), r[max(0, len(r)-limit+1):]...)
	next = append(next, now)
	return next, len(next) == limit && recent(next[0], now)
}

// circles checks whether a completed run is another round of a hot loop.
func (j *Journal) circles(h *history, e *entry) {
	now := e.run.end()
	var hot bool
	if k := slices.IndexFunc(e.run.Writes, func(w Write) bool { return w.Unchanged }); k >= 0 {
		if h.idle, hot = h.idle.add(now, idleRuns); hot {
			j.loops.record(Loop{
				Controllers: []string{e.run.Controller}, Objects: []Object{e.run.Writes[k].Object},
				Subjects:  []Object{e.run.Object},
				Unchanged: true, First: h.idle[0],
			}, now, idleRuns)
		}
	}
	if !slices.ContainsFunc(e.run.Writes, func(w Write) bool { return w.changing() }) {
		return
	}
	path := j.written.back(e)
	if path == nil || advances(e, path) {
		return
	}
	before := path[len(path)-1]
	if e.rounds, hot = before.rounds.add(now, rounds); hot {
		loop := circleOf(path)
		loop.First = e.rounds[0]
		j.loops.record(loop, now, rounds)
	}
}

// advances reports whether a run made progress since the one that the path leads back to: it wrote other
// objects, or the round only created objects or only deleted some, as when a controller creates a hundred one
// by one.
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
		return w.changing() && slices.ContainsFunc(before.run.Writes, func(b Write) bool {
			return b.changing() && b.Object == w.Object
		})
	})
}

// back returns the path from a run to the earlier run of the same controller and object that caused it,
// without e; nil if there is none.
func (ws *writers) back(e *entry) []*entry {
	type step struct {
		entry *entry
		from  int
	}
	steps := []step{{e, -1}}
	for k := 0; k < len(steps) && len(steps) < maxSteps; k++ {
		for _, parent := range ws.parents(&steps[k].entry.run) {
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

// continues reports whether a run is for the object of an earlier run, or for an object that the earlier run
// created under the same name.
func (r *Run) continues(before *Run) bool {
	uid := r.uid()
	return r.Object == before.Object &&
		(same(before.uid(), uid) || slices.ContainsFunc(before.Writes, func(w Write) bool {
			return w.Object == r.Object && w.UID == uid
		}))
}

// circleOf returns the loop that a path describes.
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
	if len(loop.Objects) == 0 { // none has completed
		loop.Objects = []Object{path[0].run.Object}
	}
	return loop
}

// with appends a part to a list of a Loop, unless the list contains it or is full.
func with[T comparable](list []T, part T) []T {
	if len(list) == maxParts || slices.Contains(list, part) {
		return list
	}
	return append(list, part)
}

// hotLoops holds the hot loops that were found. The journal's lock guards it.
type hotLoops struct {
	log *slog.Logger
	by  map[string]*Loop // by their controllers and subjects
}

// record records a hot loop and logs it at most once per warnAgain.
func (ls *hotLoops) record(found Loop, now time.Time, times int) {
	for _, objects := range [][]Object{found.Objects, found.Subjects} {
		slices.SortFunc(objects, func(a, b Object) int { return strings.Compare(a.String(), b.String()) })
	}
	key := fmt.Sprint(found.Unchanged, slices.Sorted(slices.Values(found.Controllers)), found.Subjects)
	loop := ls.by[key]
	if loop == nil {
		ls.evict(now)
		loop = &found
		loop.Times = times - 1
		ls.by[key] = loop
	}
	loop.Times++
	loop.Objects, loop.Last = found.Objects, now
	if now.Sub(loop.warned) < warnAgain {
		return
	}
	loop.warned = now
	ls.log.Warn("hot loop: "+loop.String(), "times", loop.Times, "since", loop.First)
}

// evict makes room for another loop.
func (ls *hotLoops) evict(now time.Time) {
	for key, l := range ls.by {
		if now.Sub(l.Last) > forgetLoops || len(ls.by) >= maxLoops {
			delete(ls.by, key)
		}
	}
}

// involving returns the loops that involve an object, or all for the zero object, oldest first.
func (ls *hotLoops) involving(about Object) (found []Loop) {
	for _, l := range ls.by {
		if about == (Object{}) || slices.Contains(l.Objects, about) || slices.Contains(l.Subjects, about) {
			found = append(found, *l)
		}
	}
	slices.SortFunc(found, func(a, b Loop) int { return a.First.Compare(b.First) })
	return found
}

// recent reports whether then lies within the window before now.
func recent(then, now time.Time) bool { return now.Sub(then) <= window }
