package store

import "github.com/bowline-dev/bowline/object"

// audience is who watches one prefix: all of it, or what meets a requirement. A commit asks with the labels and fields
// that its objects have, so that it costs by those and by who is concerned, and not by how many watch. The state's lock
// guards it.
type audience struct {
	// topics are all that there are, by their requirement's identity; "" is the prefix's own.
	topics map[string]*topic
	whole  *topic // nil for none, as all below
	labels map[string]*byValue
	fields map[string]*byValue
}

// byValue is the topics that require one label or field.
type byValue struct {
	any    *topic
	values map[string][]*topic
}

// topic is the one of a requirement, "" for none, made when it is new.
func (a *audience) topic(need *Requirement, create func() *topic) *topic {
	id := ""
	if need != nil {
		id = need.identity()
	}
	if t := a.topics[id]; t != nil {
		return t
	}
	t := create()
	t.id, t.need = id, need
	if a.topics == nil {
		a.topics = map[string]*topic{}
	}
	a.topics[id] = t
	if need == nil {
		a.whole = t
		return t
	}
	a.index(t)
	return t
}

// by is where the topics that require a label or a field of a name stand.
func (a *audience) by(field bool) *map[string]*byValue {
	if field {
		return &a.fields
	}
	return &a.labels
}

func (a *audience) index(t *topic) {
	names := a.by(t.need.field)
	if *names == nil {
		*names = map[string]*byValue{}
	}
	v := (*names)[t.need.name]
	if v == nil {
		v = &byValue{values: map[string][]*topic{}}
		(*names)[t.need.name] = v
	}
	if len(t.need.values) == 0 {
		v.any = t
	}
	for _, value := range t.need.values {
		v.values[value] = append(v.values[value], t)
	}
}

// remove takes a topic out.
func (a *audience) remove(t *topic) {
	delete(a.topics, t.id)
	if t.need == nil {
		a.whole = nil
		return
	}
	names := *a.by(t.need.field)
	v := names[t.need.name]
	if len(t.need.values) == 0 {
		v.any = nil
	}
	for _, value := range t.need.values {
		if v.values[value] = without(v.values[value], t); len(v.values[value]) == 0 {
			delete(v.values, value)
		}
	}
	if v.any == nil && len(v.values) == 0 {
		delete(names, t.need.name)
	}
}

// without is a list without one of its topics.
func without(topics []*topic, gone *topic) (rest []*topic) {
	for _, t := range topics {
		if t != gone {
			rest = append(rest, t)
		}
	}
	return rest
}

// concerned appends the topics that an event concerns: by what its object is, and by what it was. Some come twice.
func (a *audience) concerned(e *object.Event, to []*topic) []*topic {
	if a.whole != nil {
		to = append(to, a.whole)
	}
	if len(a.labels) > 0 || len(a.fields) > 0 {
		to = a.meeting(e.Object, to)
		if e.Previous != nil && !e.Deleted { // a deleted object is as it was
			to = a.meeting(e.Previous, to)
		}
	}
	return to
}

// meeting appends the topics whose requirement an object meets.
func (a *audience) meeting(o *object.Object, to []*topic) []*topic {
	if len(a.labels) > 0 {
		for key, value := range o.Labels {
			if v := a.labels[key]; v != nil {
				to = v.of(value, to)
			}
		}
	}
	for name, v := range a.fields {
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
