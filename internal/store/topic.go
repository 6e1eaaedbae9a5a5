package store

import (
	"github.com/bowline-dev/bowline/internal/object"
)

// topic is shared by the watchers that select the same objects: every object of a prefix, or only objects that meet a
// requirement. It exists while it has watchers. Its queue has only the events that it selects. The topic of a whole
// resource shares the resource's queue; the others have one of their own. The state's lock protects everything except
// wake, which has its own.
type topic struct {
	prefix object.Key
	// need is the requirement, nil for none. id is its identity, and index the topic's position in
	// requirementIndex.all.
	need  *Requirement
	id    requirementID
	index int

	events *eventQueue
	// ownsEvents reports whether the queue belongs to the topic, and not to the resource.
	ownsEvents bool
	watchers   int

	wake signal
}

// matches reports whether an event of the resource concerns the topic.
func (t *topic) matches(e *object.Event) bool {
	return covers(t.prefix, e.Key()) && (t.need == nil || t.need.matches(e))
}

// add appends a new event, unless it was the last one added.
func (t *topic) add(e *object.Event) {
	if t.ownsEvents && (t.events.len() == 0 || *t.events.at(t.events.end() - 1) != e) {
		t.events.push(e)
	}
}

// drop drops an event that the history drops. Events from before the topic was created are not in its queue.
func (t *topic) drop(e *object.Event) {
	if t.ownsEvents && t.events.len() > 0 && *t.events.at(t.events.first) == e {
		t.events.pop()
	}
}

// subscribe adds a watcher to the topic of a prefix and of the most selective of some requirements, and returns the
// topic. The caller holds the state's lock.
func (h *history) subscribe(prefix object.Key, requirements []Requirement) *topic {
	resource := levels(prefix)[0]
	var need *Requirement
	if r, ok := rarest(requirements, h.queueOf(resource)); ok {
		need = &r
	}
	p := h.watchers[prefix]
	if p == nil {
		p = &prefixWatchers{topics: map[requirementID]*topic{}, byWriter: map[object.Writer]*requirementIndex{}}
		h.watchers[prefix] = p
	}
	t := p.topic(need, func() *topic {
		if need == nil && prefix == resource {
			return &topic{prefix: prefix, events: h.queueOf(resource)}
		}
		return &topic{prefix: prefix, events: new(eventQueue), ownsEvents: true}
	})
	t.watchers++
	return t
}

// unsubscribe removes a watcher. The caller holds the state's lock.
func (h *history) unsubscribe(t *topic) {
	if t.watchers--; t.watchers > 0 {
		return
	}
	p := h.watchers[t.prefix]
	p.remove(t)
	if len(p.topics) == 0 {
		delete(h.watchers, t.prefix)
	}
}

// matching returns the topics that select an event, some twice; the slice is valid until the next call.
// The caller holds the state's lock.
func (h *history) matching(e *object.Event, prefixes [3]object.Key) []*topic {
	found := h.found[:0]
	for _, prefix := range prefixes {
		if p := h.watchers[prefix]; p != nil {
			found = p.matching(e, found)
		}
	}
	h.found = found
	return found
}

// detachWaiting appends the channels on which watchers wait, for wake. The caller holds the state's lock.
func (h *history) detachWaiting(waiting []chan struct{}) []chan struct{} {
	for _, p := range h.watchers {
		for _, t := range p.topics {
			waiting = t.wake.detach(waiting)
		}
	}
	return waiting
}
