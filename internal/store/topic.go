package store

import (
	"github.com/bowline-dev/bowline/internal/object"
)

// topic is shared by the watchers that select the same objects: every object of a prefix, or only objects that meet a
// requirement. It exists while it has watchers. Its feed has only the events that it selects. The topic of a whole
// resource shares the resource's feed; the others have one of their own. The state's lock protects everything except
// wake, which has its own.
type topic struct {
	prefix object.Key
	// need is the requirement, nil for none. id is its identity, and index the topic's position in
	// requirementIndex.all.
	need  *Requirement
	id    requirementID
	index int

	feed *feed
	// ownsFeed reports whether the feed belongs to the topic, and not to the resource.
	ownsFeed bool
	watchers int

	wake signal
}

// matches reports whether an event of the resource concerns the topic.
func (t *topic) matches(e *object.Event) bool {
	return covers(t.prefix, e.Key()) && (t.need == nil || t.need.matches(e))
}

// add appends a new event, unless it was the last one added.
func (t *topic) add(e *object.Event) {
	if t.ownsFeed && (t.feed.len() == 0 || *t.feed.at(t.feed.end() - 1) != e) {
		t.feed.push(e)
	}
}

// drop drops an event that the history drops. Events from before the topic was created are not in its feed.
func (t *topic) drop(e *object.Event) {
	if t.ownsFeed && t.feed.len() > 0 && *t.feed.at(t.feed.first) == e {
		t.feed.pop()
	}
}

// subscribe adds a watcher to the topic of a prefix and of the most selective of some requirements, and returns the
// topic. The caller holds the state's lock.
func (h *history) subscribe(prefix object.Key, requirements []Requirement) *topic {
	resource := levels(prefix)[0]
	var need *Requirement
	if r, ok := rarest(requirements, h.feed(resource)); ok {
		need = &r
	}
	p := h.watchers[prefix]
	if p == nil {
		p = &prefixWatchers{topics: map[requirementID]*topic{}, byWriter: map[object.Writer]*requirementIndex{}}
		h.watchers[prefix] = p
	}
	t := p.topic(need, func() *topic {
		if need == nil && prefix == resource {
			return &topic{prefix: prefix, feed: h.feed(resource)}
		}
		return &topic{prefix: prefix, feed: new(feed), ownsFeed: true}
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
