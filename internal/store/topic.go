package store

import (
	"github.com/bowline-dev/bowline/internal/object"
)

// topic is shared by the watchers of the same selection: all objects of a prefix, or those that meet one
// requirement. It has its own feed while it has watchers, so a watcher reads only relevant events. The
// topic of a whole resource uses the resource's feed instead, which always exists. The state's lock
// protects everything except wake.
type topic struct {
	prefix object.Key
	// need is the requirement, nil for none; prefixWatchers finds the topic by id and index.
	need  *Requirement
	id    identity
	index int

	feed *feed
	// ownsFeed reports whether the feed belongs to the topic.
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

// drop drops an event that the history drops. The topic lacks events older than itself.
func (t *topic) drop(e *object.Event) {
	if t.ownsFeed && t.feed.len() > 0 && *t.feed.at(t.feed.first) == e {
		t.feed.pop()
	}
}

// subscribe returns the topic of a prefix and the most selective of some requirements, and adds a watcher to
// it. The caller holds the state's lock.
func (h *history) subscribe(prefix object.Key, requirements []Requirement) *topic {
	resource := levels(prefix)[0]
	var need *Requirement
	if r, some := rarest(requirements, h.feed(resource)); some {
		need = &r
	}
	a := h.watchers[prefix]
	if a == nil {
		a = &prefixWatchers{topics: map[identity]*topic{}, needs: map[object.Writer]*needs{}}
		h.watchers[prefix] = a
	}
	t := a.topic(need, func() *topic {
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
	a := h.watchers[t.prefix]
	a.remove(t)
	if len(a.topics) == 0 {
		delete(h.watchers, t.prefix)
	}
}

// matching returns the topics that an event concerns, some twice; the slice is valid until the next call.
// The caller holds the state's lock.
func (h *history) matching(e *object.Event, prefixes [3]object.Key) []*topic {
	found := h.found[:0]
	for _, prefix := range prefixes {
		if a := h.watchers[prefix]; a != nil {
			found = a.matching(e, found)
		}
	}
	h.found = found
	return found
}

// takeWaiting appends the channels of all waiting watchers. The caller holds the state's lock.
func (h *history) takeWaiting(waiting []chan struct{}) []chan struct{} {
	for _, a := range h.watchers {
		for _, t := range a.topics {
			waiting = t.wake.take(waiting)
		}
	}
	return waiting
}
