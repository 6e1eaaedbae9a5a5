package store

import (
	"slices"

	"github.com/bowline-dev/bowline/internal/object"
)

// Requirement is a label or field that every object has which a watcher wants to see. Create it with HasLabel
// or HasField. The store indexes each watcher by one of its requirements, so that a commit finds the watchers
// concerned without visiting the others.
type Requirement struct {
	of    object.Writer
	field bool
	name  string
	// values are the accepted values, sorted; none means any.
	values []string
}

// mostValues bounds the values of a label requirement; with more, the watcher is woken by the label's key.
const mostValues = 64

// HasLabel is met by objects with a label, which must have one of the values if any are given.
func HasLabel(key string, values ...string) Requirement {
	if len(values) > mostValues {
		values = nil
	}
	values = slices.Clone(values)
	slices.Sort(values)
	return Requirement{name: key, values: slices.Compact(values)}
}

// HasField is met by objects whose field, as read by object.Header.Field, has a value.
func HasField(name, value string) Requirement {
	return Requirement{field: true, name: name, values: []string{value}}
}

// Of limits the requirement to a watcher that reads labels and fields only from the headers of one writer's
// objects. Since it decodes other objects differently, these concern the watcher regardless of their headers.
func (r Requirement) Of(writer object.Writer) Requirement {
	r.of = writer
	return r
}

// identity is equal for equivalent requirements only. The zero value stands for no requirement.
type identity struct {
	of    object.Writer
	field bool
	name  string
	// values are concatenated, each terminated by a zero byte. A label value cannot contain a zero byte; a
	// field value can, but it is the only one.
	values string
}

func (r Requirement) identity() identity {
	values := ""
	for _, v := range r.values {
		values += v + "\x00"
	}
	return identity{r.of, r.field, r.name, values}
}

// metBy reports whether an object meets the requirement.
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

// matches reports whether the object of an event meets the requirement, or met it before: leaving a
// selection is an event too.
func (r Requirement) matches(e *object.Event) bool {
	return unreadable(r.of, e) || r.metBy(e.Object) || e.Previous != nil && r.metBy(e.Previous)
}

// unreadable reports whether a reader that relies on one writer's headers cannot use those of the event.
func unreadable(of object.Writer, e *object.Event) bool {
	return of != object.Writer{} && (e.Object.Writer() != of || e.Previous != nil && e.Previous.Writer() != of)
}

const (
	// sample is the number of a resource's newest events that are examined to find the most selective
	// requirement.
	sample = 64
	// candidates is the maximum number of requirements of a watch that are compared.
	candidates = 8
)

// rarest returns the requirement that the fewest of a feed's newest events meet. Ties are resolved in
// favor of a field, then of the label requirement with the fewest values, and last of one that accepts any
// value.
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
			if r.matches(*f.at(n)) {
				met[i]++
			}
		}
	}
	return needs[slices.Index(met, slices.Min(met))], true
}

// breadth orders requirements by how many objects they are expected to select.
func (r Requirement) breadth() int {
	switch {
	case r.field:
		return 0
	case len(r.values) == 0:
		return mostValues + 1
	}
	return len(r.values)
}
