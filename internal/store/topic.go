package store

import (
	"github.com/bowline-dev/bowline/object"
)

// topic is what the watchers share who wait for the same: a prefix, or what meets one requirement within it. It has a
// feed of its own, which begins when the first of them comes and goes with the last, so that a watcher reads what concerns
// it and nothing else. Only the topic of a whole resource reads the resource's feed, which is always there. The state's
// lock guards all but wake.
type topic struct {
	prefix object.Key
	// need is the requirement, nil for none; id and place are what the audience finds the topic by.
	need  *Requirement
	id    identity
	place int

	feed *feed
	// own says that the feed is the topic's.
	own      bool
	watchers int

	wake signal
}

// concerns says whether an event of the resource concerns the topic.
func (t *topic) concerns(e *object.Event) bool {
	return covers(t.prefix, e.Key()) && (t.need == nil || t.need.concerns(e))
}

// add appends an event of the present, which may come twice.
func (t *topic) add(e *object.Event) {
	if t.own && (t.feed.len() == 0 || *t.feed.at(t.feed.end() - 1) != e) {
		t.feed.push(e)
	}
}

// forget drops an event that the history drops. The topic does not have it when it was made before the topic.
func (t *topic) forget(e *object.Event) {
	if t.own && t.feed.len() > 0 && *t.feed.at(t.feed.first) == e {
		t.feed.pop()
	}
}

// subscribe returns the topic of a prefix and of the rarest of some requirements, with one watcher more. The state's lock
// is held.
func (h *history) subscribe(prefix object.Key, requirements []Requirement) *topic {
	resource := levels(prefix)[0]
	var need *Requirement
	if r, some := rarest(requirements, h.feed(resource)); some {
		need = &r
	}
	a := h.audiences[prefix]
	if a == nil {
		a = &audience{topics: map[identity]*topic{}, needs: map[object.Writer]*needs{}}
		h.audiences[prefix] = a
	}
	t := a.topic(need, func() *topic {
		if need == nil && prefix == resource {
			return &topic{prefix: prefix, feed: h.feed(resource)}
		}
		return &topic{prefix: prefix, feed: new(feed), own: true}
	})
	t.watchers++
	return t
}

// unsubscribe takes a watcher away. The state's lock is held.
func (h *history) unsubscribe(t *topic) {
	if t.watchers--; t.watchers > 0 {
		return
	}
	a := h.audiences[t.prefix]
	a.remove(t)
	if len(a.topics) == 0 {
		delete(h.audiences, t.prefix)
	}
}

// concerned is the topics that an event concerns, some twice; good until the next call. The state's lock is held.
func (h *history) concerned(e *object.Event, prefixes [3]object.Key) []*topic {
	found := h.found[:0]
	for _, prefix := range prefixes {
		if a := h.audiences[prefix]; a != nil {
			found = a.concerned(e, found)
		}
	}
	h.found = found
	return found
}

// everybody appends the channels of all who wait. The state's lock is held.
func (h *history) everybody(waiting []chan struct{}) []chan struct{} {
	for _, a := range h.audiences {
		for _, t := range a.topics {
			waiting = t.wake.take(waiting)
		}
	}
	return waiting
}
