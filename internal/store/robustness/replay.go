package robustness

import (
	"cmp"
	"maps"
	"slices"
)

// commit is a write at its revision, with the transition of each key that it changed.
type commit struct {
	revision uint64
	write    *Write
	changes  map[string]transition
}

// transition holds the states of a key before and after a commit; nil means absent.
type transition struct{ before, after *State }

// checker collects the violations of a history.
type checker struct {
	history    *History
	commits    []commit
	violations []Violation
}

// replay applies the writes to an empty store in the order of their revisions.
func (c *checker) replay() {
	state := map[string]State{}
	for _, p := range c.placed() {
		c.expected(p.write, p.revision, state)
		made := commit{revision: p.revision, write: p.write, changes: map[string]transition{}}
		for _, change := range p.write.Changes {
			t := transition{before: lookup(state, change.Key)}
			if change.Deleted {
				delete(state, change.Key)
			} else {
				t.after = &State{change.Value, p.revision}
				state[change.Key] = *t.after
			}
			if t.before != nil || t.after != nil {
				made.changes[change.Key] = t
			}
		}
		c.commits = append(c.commits, made)
	}
}

func lookup(state map[string]State, key string) *State {
	if s, ok := state[key]; ok {
		return &s
	}
	return nil
}

// expected checks the preconditions of a write against the state before it.
func (c *checker) expected(w *Write, revision uint64, state map[string]State) {
	for _, change := range w.Changes {
		if change.Expect == nil {
			continue
		}
		if found := state[change.Key].Revision; found != *change.Expect {
			c.broken(Serial, "revision %d changes %s, expecting it at %d, where it was at %d", revision, change.Key,
				*change.Expect, found)
		}
	}
}

// place assigns a revision to a write.
type place struct {
	revision uint64
	write    *Write
}

// placed returns all committed writes by revision. A write with an unknown outcome gets the revision at which
// its effect was observed.
func (c *checker) placed() []place {
	at := map[uint64]*Write{}
	var unknown []*Write
	for i := range c.history.Writes {
		w := &c.history.Writes[i]
		switch w.Outcome {
		case Acknowledged:
			if other := at[w.Revision]; other != nil {
				c.broken(Serial, "two writes were told that they are revision %d: %v and %v", w.Revision, other.Changes,
					w.Changes)
			}
			at[w.Revision] = w
		case Unknown:
			unknown = append(unknown, w)
		}
	}
	slices.SortFunc(unknown, func(a, b *Write) int { return cmp.Compare(a.Call, b.Call) })
	c.placeUnknown(at, unknown)
	var placed []place
	for _, revision := range slices.Sorted(maps.Keys(at)) {
		placed = append(placed, place{revision, at[revision]})
	}
	c.inTime(placed)
	c.withoutGap(placed)
	return placed
}

// placeUnknown assigns a write of unknown outcome to each revision that was observed but not acknowledged.
func (c *checker) placeUnknown(at map[uint64]*Write, unknown []*Write) {
	sightings := c.sightings()
	for _, revision := range slices.Sorted(maps.Keys(sightings)) {
		if at[revision] != nil {
			continue
		}
		i := likeliest(unknown, sightings[revision])
		if i < 0 {
			c.broken(Written, "revision %d was seen, %v, but nobody wrote that", revision, sightings[revision])
			continue
		}
		at[revision] = unknown[i]
		unknown = slices.Delete(unknown, i, i+1)
	}
}

// sightings returns the changes that were observed at each revision, as far as they help to identify the
// write.
func (c *checker) sightings() map[uint64][]Change {
	seen := map[uint64][]Change{}
	for _, w := range c.history.Watches {
		for _, r := range w.Responses {
			for _, e := range r.Events {
				// A watch that selects by value reports a deletion also when the key changed to another
				// value.
				if e.Type != "DELETED" || w.Where.Value == "" {
					seen[e.Revision] = append(seen[e.Revision], w.sighting(e))
				}
			}
		}
	}
	for _, l := range c.history.Lists {
		for key, s := range l.Items {
			seen[s.Revision] = append(seen[s.Revision], Change{Key: key, Value: s.Value})
		}
	}
	return seen
}

// sighting converts an event to the change it reveals. The previous revision distinguishes two deletions of
// one key.
func (w *Watch) sighting(e Event) Change {
	s := Change{Key: e.Key, Value: e.Value, Deleted: e.Type == "DELETED"}
	if w.Previous {
		s.Expect = new(uint64)
		if e.Previous != nil {
			*s.Expect = e.Previous.Revision
		}
	}
	return s
}

// likeliest returns the index of the write that contains all observed changes and has the fewest unobserved
// ones, the first on a tie; -1 if no write contains them.
func likeliest(writes []*Write, seen []Change) int {
	best, least := -1, 0
	for i, w := range writes {
		if slices.ContainsFunc(seen, func(s Change) bool { return !slices.ContainsFunc(w.Changes, s.shows) }) {
			continue
		}
		unseen := 0
		for _, c := range w.Changes {
			changes := !c.Deleted || c.Expect != nil // otherwise it may delete an absent key
			if changes && !slices.ContainsFunc(seen, func(s Change) bool { return s.shows(c) }) {
				unseen++
			}
		}
		if best < 0 || unseen < least {
			best, least = i, unseen
		}
	}
	return best
}

// shows reports whether the observed change c may stem from the change of a write.
func (c Change) shows(of Change) bool {
	return c.Key == of.Key && c.Deleted == of.Deleted && (c.Value == of.Value || c.Deleted && of.Value == "") &&
		(c.Expect == nil || of.Expect == nil || *c.Expect == *of.Expect)
}

// inTime checks that a write that started after another was acknowledged has a higher revision.
func (c *checker) inTime(placed []place) {
	var earliest *place // the first to return among the later revisions
	for i := len(placed) - 1; i >= 0; i-- {
		p := &placed[i]
		if earliest != nil && earliest.write.Return < p.write.Call {
			c.broken(Serial, "revision %d was answered before revision %d was asked for", earliest.revision, p.revision)
		}
		answered := p.write.Outcome == Acknowledged
		if answered && (earliest == nil || cmp.Less(p.write.Return, earliest.write.Return)) {
			earliest = p
		}
	}
}

// withoutGap checks that every revision has a write.
func (c *checker) withoutGap(placed []place) {
	if c.history.Others {
		return
	}
	last := c.history.Base
	for _, p := range placed {
		if p.revision != last+1 {
			c.broken(Serial, "revision %d follows %d: no recorded write has a revision between them",
				p.revision, last)
		}
		last = p.revision
	}
}

// stateAt returns the state at a revision.
func (c *checker) stateAt(revision uint64) map[string]State {
	state := map[string]State{}
	for _, made := range c.commits {
		if made.revision > revision {
			break
		}
		for key, t := range made.changes {
			delete(state, key)
			if t.after != nil {
				state[key] = *t.after
			}
		}
	}
	return state
}
