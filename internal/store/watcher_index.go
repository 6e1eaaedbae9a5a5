package store

import (
	"slices"

	"github.com/bowline-dev/bowline/internal/object"
)

// prefixWatchers indexes the watchers of one prefix: those of all its objects, and those of objects that meet a
// requirement. A commit looks up its objects' labels and fields, so its cost depends on these and on the
// watchers concerned, not on the total number of watchers. The state's lock protects it.
type prefixWatchers struct {
	// topics holds all topics; whole is the one without a requirement, or nil.
	topics map[identity]*topic
	whole  *topic
	// needs indexes the other topics by the writer whose labels and fields they read.
	needs map[object.Writer]*needs
}

// needs indexes the topics with requirements by the name of the label or field.
type needs struct {
	labels, fields map[string]*byValue
	// all lists the same topics.
	all []*topic
}

// byValue indexes the topics that require one label or field by its value.
type byValue struct {
	any    *topic // accepts every value; may be nil
	values map[string][]*topic
}

// topic returns the topic of a requirement, nil for none, creating it if needed.
func (a *prefixWatchers) topic(need *Requirement, create func() *topic) *topic {
	var id identity
	if need != nil {
		id = need.identity()
	}
	if t := a.topics[id]; t != nil {
		return t
	}
	t := create()
	t.id, t.need = id, need
	a.topics[id] = t
	if need == nil {
		a.whole = t
		return t
	}
	n := a.needs[need.of]
	if n == nil {
		n = &needs{labels: map[string]*byValue{}, fields: map[string]*byValue{}}
		a.needs[need.of] = n
	}
	n.add(t)
	return t
}

// remove removes a topic.
func (a *prefixWatchers) remove(t *topic) {
	delete(a.topics, t.id)
	if t.need == nil {
		a.whole = nil
		return
	}
	n := a.needs[t.need.of]
	n.remove(t)
	if len(n.all) == 0 {
		delete(a.needs, t.need.of)
	}
}

// matching appends the topics that an event concerns, by the object's new and previous state. Some may
// appear twice.
func (a *prefixWatchers) matching(e *object.Event, to []*topic) []*topic {
	if a.whole != nil {
		to = append(to, a.whole)
	}
	for of, n := range a.needs {
		if unreadable(of, e) {
			to = append(to, n.all...)
			continue
		}
		to = n.match(e.Object, to)
		if e.Previous != nil && !e.Deleted { // the object of a deletion has the previous labels and fields
			to = n.match(e.Previous, to)
		}
	}
	return to
}

// byField returns the index of the topics that require a field, or a label.
func (n *needs) byField(field bool) map[string]*byValue {
	if field {
		return n.fields
	}
	return n.labels
}

func (n *needs) add(t *topic) {
	t.index = len(n.all)
	n.all = append(n.all, t)
	named := n.byField(t.need.field)
	v := named[t.need.name]
	if v == nil {
		v = &byValue{values: map[string][]*topic{}}
		named[t.need.name] = v
	}
	if len(t.need.values) == 0 {
		v.any = t
	}
	for _, value := range t.need.values {
		v.values[value] = append(v.values[value], t)
	}
}

func (n *needs) remove(t *topic) {
	last := len(n.all) - 1
	n.all[t.index] = n.all[last]
	n.all[t.index].index = t.index
	n.all[last] = nil
	n.all = n.all[:last]
	named := n.byField(t.need.field)
	v := named[t.need.name]
	if len(t.need.values) == 0 {
		v.any = nil
	}
	for _, value := range t.need.values {
		v.values[value] = slices.DeleteFunc(v.values[value], func(other *topic) bool { return other == t })
		if len(v.values[value]) == 0 {
			delete(v.values, value)
		}
	}
	if v.any == nil && len(v.values) == 0 {
		delete(named, t.need.name)
	}
}

// match appends the topics whose requirement an object meets.
func (n *needs) match(o *object.Object, to []*topic) []*topic {
	if len(n.labels) > 0 {
		for key, value := range o.Labels {
			if v := n.labels[key]; v != nil {
				to = v.of(value, to)
			}
		}
	}
	for name, v := range n.fields {
		to = v.of(o.Field(name), to)
	}
	return to
}

func (v *byValue) of(value string, to []*topic) []*topic {
	if v.any != nil {
		to = append(to, v.any)
	}
	return append(to, v.values[value]...)
}
