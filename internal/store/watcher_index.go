package store

import (
	"slices"

	"github.com/bowline-dev/bowline/internal/object"
)

// prefixWatchers indexes the topics of one prefix by their requirement. A commit looks up its objects' labels and
// fields, so its cost depends on these and on the watchers concerned, not on the total number of watchers. The
// state's lock protects it.
type prefixWatchers struct {
	// topics holds all topics; whole is the one without a requirement, or nil.
	topics map[requirementID]*topic
	whole  *topic
	// byWriter indexes the other topics by the writer of Requirement.Of.
	byWriter map[object.Writer]*requirementIndex
}

// requirementIndex indexes topics by the name of the label or field that they require.
type requirementIndex struct {
	labels, fields map[string]*byValue
	// all lists all topics of labels and fields, in any order.
	all []*topic
}

// byValue indexes the topics that require one label or field by its value.
type byValue struct {
	any    *topic // accepts every value; may be nil
	values map[string][]*topic
}

// topic returns the topic of a requirement, or of the whole prefix if need is nil. It calls create if there is none.
func (p *prefixWatchers) topic(need *Requirement, create func() *topic) *topic {
	var id requirementID
	if need != nil {
		id = need.identity()
	}
	if t := p.topics[id]; t != nil {
		return t
	}
	t := create()
	t.id, t.need = id, need
	p.topics[id] = t
	if need == nil {
		p.whole = t
		return t
	}
	x := p.byWriter[need.of]
	if x == nil {
		x = &requirementIndex{labels: map[string]*byValue{}, fields: map[string]*byValue{}}
		p.byWriter[need.of] = x
	}
	x.add(t)
	return t
}

// remove removes a topic that has no watchers left.
func (p *prefixWatchers) remove(t *topic) {
	delete(p.topics, t.id)
	if t.need == nil {
		p.whole = nil
		return
	}
	x := p.byWriter[t.need.of]
	x.remove(t)
	if len(x.all) == 0 {
		delete(p.byWriter, t.need.of)
	}
}

// matching appends the topics that select the object of an event, before or after the change. Some may be appended
// twice.
func (p *prefixWatchers) matching(e *object.Event, to []*topic) []*topic {
	if p.whole != nil {
		to = append(to, p.whole)
	}
	for of, x := range p.byWriter {
		if otherWriter(of, e) {
			to = append(to, x.all...)
			continue
		}
		to = x.match(e.Object, to)
		if e.Previous != nil && !e.Deleted { // the object of a deletion has the previous labels and fields
			to = x.match(e.Previous, to)
		}
	}
	return to
}

// byField returns the index of the topics that require a field, or a label.
func (x *requirementIndex) byField(field bool) map[string]*byValue {
	if field {
		return x.fields
	}
	return x.labels
}

func (x *requirementIndex) add(t *topic) {
	t.index = len(x.all)
	x.all = append(x.all, t)
	named := x.byField(t.need.field)
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

func (x *requirementIndex) remove(t *topic) {
	last := len(x.all) - 1
	x.all[t.index] = x.all[last]
	x.all[t.index].index = t.index
	x.all[last] = nil
	x.all = x.all[:last]
	named := x.byField(t.need.field)
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
func (x *requirementIndex) match(o *object.Object, to []*topic) []*topic {
	if len(x.labels) > 0 {
		for key, value := range o.Labels {
			if v := x.labels[key]; v != nil {
				to = v.of(value, to)
			}
		}
	}
	for name, v := range x.fields {
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
