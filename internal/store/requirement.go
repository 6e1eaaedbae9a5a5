package store

import (
	"slices"

	"github.com/bowline-dev/bowline/object"
)

// Requirement is a label or a field that all objects have which a watcher wants to see. Make it with HasLabel or HasField.
// The store wakes a watcher by one of its requirements, so that a commit finds those whom its objects concern, and passes
// over all others at no cost.
type Requirement struct {
	of    object.Writer
	field bool
	name  string
	// values are those of which the label or the field has one, in order; none for any.
	values []string
}

// mostValues is how many values of a label are told apart: a watcher of more is woken by the label's key.
const mostValues = 64

// HasLabel is met by objects that have a label, with one of some values where there are any.
func HasLabel(key string, values ...string) Requirement {
	if len(values) > mostValues {
		values = nil
	}
	values = slices.Clone(values)
	slices.Sort(values)
	return Requirement{name: key, values: slices.Compact(values)}
}

// HasField is met by objects whose field, as object.Header.Field reads it, has a value.
func HasField(name, value string) Requirement {
	return Requirement{field: true, name: name, values: []string{value}}
}

// Of is the requirement for a watcher that reads labels and fields from the headers of one writer's objects alone. What
// somebody else wrote it sees otherwise, so that it concerns the watcher whatever its header says.
func (r Requirement) Of(writer object.Writer) Requirement {
	r.of = writer
	return r
}

// identity is equal for requirements that the same objects meet, and for no others. The zero value is that of none.
type identity struct {
	of    object.Writer
	field bool
	name  string
	// values stand one after the other, each before a zero byte, which only the value of a field can hold: there is one.
	values string
}

func (r Requirement) identity() identity {
	values := ""
	for _, v := range r.values {
		values += v + "\x00"
	}
	return identity{r.of, r.field, r.name, values}
}

// metBy says whether an object meets the requirement.
func (r Requirement) metBy(o *object.Object) bool {
	if r.field {
		return o.Field(r.name) == r.values[0]
	}
	value, has := o.Labels[r.name]
	if !has || len(r.values) == 0 {
		return has
	}
	return slices.Contains(r.values, value)
}

// concerns says whether the object of an event meets the requirement, or did before: to leave a selection is an event of
// it.
func (r Requirement) concerns(e *object.Event) bool {
	return unreadable(r.of, e) || r.metBy(e.Object) || e.Previous != nil && r.metBy(e.Previous)
}

// unreadable says that the headers of an event's states are not what a reader of one writer's objects goes by.
func unreadable(of object.Writer, e *object.Event) bool {
	return of != object.Writer{} && (e.Object.Writer() != of || e.Previous != nil && e.Previous.Writer() != of)
}

const (
	// sample is how many of a resource's newest events are looked at to tell which requirement is met least.
	sample = 64
	// candidates is how many requirements of a watch are compared.
	candidates = 8
)

// rarest is which of several requirements the newest events of a feed meet least. Where they say nothing it is the first
// by what it asks for: a field, then one value of a label, then some, then any.
func rarest(needs []Requirement, f *feed) (Requirement, bool) {
	if len(needs) == 0 {
		return Requirement{}, false
	}
	needs = slices.Clone(needs)
	slices.SortStableFunc(needs, func(a, b Requirement) int { return a.breadth() - b.breadth() })
	needs = needs[:min(len(needs), candidates)]
	met := make([]int, len(needs))
	for n := max(f.first, f.end()-min(f.end(), sample)); n < f.end() && len(needs) > 1; n++ {
		for i, r := range needs {
			if r.concerns(*f.at(n)) {
				met[i]++
			}
		}
	}
	return needs[slices.Index(met, slices.Min(met))], true
}

// breadth orders requirements by how much they let through, as far as they tell themselves.
func (r Requirement) breadth() int {
	switch {
	case r.field:
		return 0
	case len(r.values) == 0:
		return mostValues + 1
	}
	return len(r.values)
}
