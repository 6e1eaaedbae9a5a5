package robustness_test

import (
	"math/rand/v2"
	"slices"

	"github.com/bowline-dev/bowline/internal/store/robustness"
)

// spot locates an event of the first watch, which selects all keys under a/ from the start.
type spot struct{ response, event int }

func (s spot) in(h *robustness.History) *robustness.Event {
	return &h.Watches[0].Responses[s.response].Events[s.event]
}

// pick returns a random event of the first watch that satisfies holds, excluding the first and the last
// event.
func pick(h *robustness.History, random *rand.Rand, holds func(*robustness.Event) bool) (spot, bool) {
	var spots []spot
	for i, r := range h.Watches[0].Responses {
		for j := range r.Events {
			spots = append(spots, spot{i, j})
		}
	}
	spots = slices.DeleteFunc(spots[1:len(spots)-1], func(s spot) bool { return !holds(s.in(h)) })
	if len(spots) == 0 {
		return spot{}, false
	}
	return spots[random.IntN(len(spots))], true
}

func anyEvent(*robustness.Event) bool { return true }

func remove(h *robustness.History, s spot) {
	r := &h.Watches[0].Responses[s.response]
	r.Events = slices.Delete(slices.Clone(r.Events), s.event, s.event+1)
}

func loseEvent(h *robustness.History, random *rand.Rand) bool {
	s, ok := pick(h, random, anyEvent)
	if ok {
		remove(h, s)
	}
	return ok
}

func loseFirst(h *robustness.History, _ *rand.Rand) bool {
	i := slices.IndexFunc(h.Watches[0].Responses, func(r robustness.Response) bool { return len(r.Events) > 0 })
	remove(h, spot{i, 0})
	return true
}

// loseLast drops the events of the last response but preserves its bookmark.
func loseLast(h *robustness.History, _ *rand.Rand) bool {
	w := &h.Watches[0]
	last := &w.Responses[len(w.Responses)-1]
	had := len(last.Events) > 0
	last.Events = nil
	return had
}

func swapResponses(h *robustness.History, random *rand.Rand) bool {
	w := &h.Watches[0]
	w.Responses = slices.DeleteFunc(w.Responses, func(r robustness.Response) bool { return len(r.Events) == 0 })
	if len(w.Responses) < 2 {
		return false
	}
	i := random.IntN(len(w.Responses) - 1)
	w.Responses[i], w.Responses[i+1] = w.Responses[i+1], w.Responses[i]
	return true
}

func doubleEvent(h *robustness.History, random *rand.Rand) bool {
	s, ok := pick(h, random, anyEvent)
	w := &h.Watches[0]
	duplicate := robustness.Response{Events: []robustness.Event{*s.in(h)}}
	w.Responses = slices.Insert(w.Responses, s.response+1, duplicate)
	return ok
}

func partCommit(h *robustness.History, _ *rand.Rand) bool {
	w := &h.Watches[0]
	for i, r := range w.Responses {
		for j := 1; j < len(r.Events); j++ {
			if r.Events[j-1].Revision == r.Events[j].Revision {
				w.Responses = slices.Insert(w.Responses, i+1,
					robustness.Response{Events: r.Events[j:], Bookmark: r.Bookmark})
				w.Responses[i] = robustness.Response{Events: r.Events[:j]}
				return true
			}
		}
	}
	return false
}

// raiseBookmark raises a bookmark to the revision of an event that comes after it.
func raiseBookmark(h *robustness.History, _ *rand.Rand) bool {
	responses := h.Watches[0].Responses
	for i := range responses[:len(responses)-1] {
		if next := responses[i+1].Events; len(next) > 0 {
			responses[i].Bookmark = next[0].Revision
			return true
		}
	}
	return false
}

func lowerBookmark(h *robustness.History, _ *rand.Rand) bool {
	responses := h.Watches[0].Responses
	last := &responses[len(responses)-1]
	last.Bookmark = h.Base + 1
	return true
}

func wrongPrevious(h *robustness.History, random *rand.Rand) bool {
	s, ok := pick(h, random, func(e *robustness.Event) bool { return e.Previous != nil })
	if ok {
		before := *s.in(h).Previous
		before.Revision--
		s.in(h).Previous = &before
	}
	return ok
}

func noPrevious(h *robustness.History, random *rand.Rand) bool {
	s, ok := pick(h, random, func(e *robustness.Event) bool { return e.Previous != nil })
	if ok {
		s.in(h).Previous = nil
	}
	return ok
}

func wrongType(h *robustness.History, random *rand.Rand) bool {
	s, ok := pick(h, random, func(e *robustness.Event) bool { return e.Type == "MODIFIED" })
	if ok {
		s.in(h).Type = "ADDED"
	}
	return ok
}

// foreignEvent adds an event of a key under b/ to the watch of a/.
func foreignEvent(h *robustness.History, random *rand.Rand) bool {
	others := h.Watches[6].Responses
	r := others[random.IntN(len(others))]
	if len(r.Events) == 0 {
		return false
	}
	w := &h.Watches[0]
	w.Responses = append(w.Responses, robustness.Response{Events: r.Events[:1]})
	return true
}

func inventValue(h *robustness.History, random *rand.Rand) bool {
	s, ok := pick(h, random, func(e *robustness.Event) bool { return e.Type != "DELETED" })
	if ok {
		s.in(h).Value = "invented"
	}
	return ok
}

func inventRevision(h *robustness.History, _ *rand.Rand) bool {
	w := &h.Watches[0]
	e := robustness.Event{Type: "ADDED", Key: "a/9", Value: "invented", Revision: h.Base + 1000}
	w.Responses = append(w.Responses, robustness.Response{Events: []robustness.Event{e}})
	return true
}

func refusedIsSeen(h *robustness.History, _ *rand.Rand) bool {
	i := slices.IndexFunc(h.Writes, func(w robustness.Write) bool { return w.Outcome == robustness.Refused })
	if i < 0 {
		return false
	}
	c := h.Writes[i].Changes[0]
	h.Watches[0].Responses = append(h.Watches[0].Responses, robustness.Response{
		Events: []robustness.Event{{Type: "ADDED", Key: c.Key, Value: c.Value, Revision: h.Base + 1000}},
	})
	return true
}

// loseWrite removes from the last list an object of an acknowledged write.
func loseWrite(h *robustness.History, _ *rand.Rand) bool {
	if len(h.Lists) == 0 {
		return false
	}
	l := h.Lists[len(h.Lists)-1]
	for _, w := range slices.Backward(h.Writes) {
		if w.Outcome == robustness.Acknowledged && w.Return < l.Call && w.Changes[0].Key[:2] == "a/" {
			return removeObject(l, w)
		}
	}
	return false
}

func removeObject(l robustness.List, w robustness.Write) bool {
	if l.Items[w.Changes[0].Key].Revision != w.Revision {
		return false
	}
	delete(l.Items, w.Changes[0].Key)
	return true
}

func staleList(h *robustness.History, _ *rand.Rand) bool {
	if len(h.Lists) < 2 {
		return false
	}
	first, last := &h.Lists[0], &h.Lists[len(h.Lists)-1]
	acknowledged := slices.ContainsFunc(h.Writes, func(w robustness.Write) bool {
		return w.Outcome == robustness.Acknowledged && w.Revision > first.Revision && w.Return < last.Call
	})
	last.Revision, last.Items = first.Revision, first.Items
	return acknowledged
}

func shortList(h *robustness.History, _ *rand.Rand) bool {
	for _, l := range h.Lists {
		for key := range l.Items {
			delete(l.Items, key)
			return true
		}
	}
	return false
}

// acknowledged returns a random acknowledged write that satisfies holds, excluding the first; nil if there is
// none.
func acknowledged(h *robustness.History, random *rand.Rand, holds func(*robustness.Write) bool) *robustness.Write {
	var found []*robustness.Write
	for i := range h.Writes[1:] {
		if w := &h.Writes[i+1]; w.Outcome == robustness.Acknowledged && holds(w) {
			found = append(found, w)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[random.IntN(len(found))]
}

func anyWrite(*robustness.Write) bool { return true }

func sameRevision(h *robustness.History, random *rand.Rand) bool {
	a, b := acknowledged(h, random, anyWrite), acknowledged(h, random, anyWrite)
	if a == b {
		return false
	}
	a.Revision = b.Revision
	return true
}

func skipRevision(h *robustness.History, _ *rand.Rand) bool {
	last := h.Writes[len(h.Writes)-1]
	last.Call, last.Return = last.Return+1, last.Return+2
	last.Outcome, last.Revision = robustness.Acknowledged, h.Base+1000
	last.Changes = []robustness.Change{{Key: "a/9", Value: "late"}}
	h.Writes = append(h.Writes, last)
	return true
}

func outOfTime(h *robustness.History, random *rand.Rand) bool {
	a, b := acknowledged(h, random, anyWrite), acknowledged(h, random, anyWrite)
	a.Revision, b.Revision = b.Revision, a.Revision
	return a != b
}

func wrongExpectation(h *robustness.History, random *rand.Rand) bool {
	w := acknowledged(h, random, func(w *robustness.Write) bool { return w.Changes[0].Expect != nil })
	if w == nil {
		return false
	}
	revision := *w.Changes[0].Expect + 1
	w.Changes[0].Expect = &revision
	return true
}
