package store

import (
	"slices"

	"github.com/bowline-dev/bowline/internal/object"
)

// Requirement is a condition on a label or field that every object selected by a watcher meets. Create it with
// HasLabel or HasField. The store indexes each watcher by one of its requirements, so that a commit finds the
// watchers concerned without visiting the others.
type Requirement struct {
	// of is the writer whose headers the watcher trusts; the zero value stands for all writers. See Of.
	of    object.Writer
	field bool
	name  string
	// values are the accepted values, sorted; none means any.
	values []string
}

// maxValues bounds the values of a label requirement; a requirement with more accepts every value of the label.
const maxValues = 64

// HasLabel is met by objects with a label, which must have one of the values if any are given.
func HasLabel(key string, values ...string) Requirement {
	if len(values) > maxValues {
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

// Of returns the requirement of a watcher that trusts only the headers of objects encoded by the given writer. Other
// objects may have different labels and fields once the watcher has decoded them, so it receives all their changes.
func (r Requirement) Of(writer object.Writer) Requirement {
	r.of = writer
	return r
}

// requirementID identifies a requirement: two are equivalent if their IDs are equal. The zero value stands for no
// requirement.
type requirementID struct {
	of    object.Writer
	field bool
	name  string
	// values are concatenated, each terminated by a zero byte. A label value cannot contain a zero byte; a
	// field value can, but it is the only one.
	values string
}

func (r Requirement) identity() requirementID {
	values := ""
	for _, v := range r.values {
		values += v + "\x00"
	}
	return requirementID{r.of, r.field, r.name, values}
}

// metBy reports whether an object meets the requirement.
func (r Requirement) metBy(o *object.Object) bool {
	if r.field {
		return o.Field(r.name) == r.values[0]
	}
	value, ok := o.Labels[r.name]
	if !ok || len(r.values) == 0 {
		return ok
	}
	return slices.Contains(r.values, value)
}

// matches reports whether the object of an event meets the requirement, or met it before: leaving a
// selection is an event too.
func (r Requirement) matches(e *object.Event) bool {
	return otherWriter(r.of, e) || r.metBy(e.Object) || e.Previous != nil && r.metBy(e.Previous)
}

// otherWriter reports whether a state of the event was encoded by another writer than of. A watcher that trusts only
// the headers of that writer must then decode the object. An empty of trusts all headers.
func otherWriter(of object.Writer, e *object.Event) bool {
	return of != object.Writer{} && (e.Object.Writer() != of || e.Previous != nil && e.Previous.Writer() != of)
}

const (
	// sampleSize is the number of a resource's newest events that rarest examines.
	sampleSize = 64
	// maxCandidates is the maximum number of requirements of a watch that rarest compares.
	maxCandidates = 8
)

// rarest returns the requirement that the fewest of a queue's newest events meet, false if there are no
// requirements. A tie goes to a field, then to the label requirement with the fewest values, and last to one that
// accepts any value.
func rarest(requirements []Requirement, q *eventQueue) (Requirement, bool) {
	if len(requirements) == 0 {
		return Requirement{}, false
	}
	requirements = slices.Clone(requirements)
	slices.SortStableFunc(requirements, func(a, b Requirement) int { return a.breadth() - b.breadth() })
	requirements = requirements[:min(len(requirements), maxCandidates)]
	met := make([]int, len(requirements))
	for n := max(q.first, q.end()-min(q.end(), sampleSize)); n < q.end() && len(requirements) > 1; n++ {
		for i, r := range requirements {
			if r.matches(*q.at(n)) {
				met[i]++
			}
		}
	}
	return requirements[slices.Index(met, slices.Min(met))], true
}

// breadth orders requirements by the number of objects that they are expected to select, without examining events.
func (r Requirement) breadth() int {
	switch {
	case r.field:
		return 0
	case len(r.values) == 0:
		return maxValues + 1
	}
	return len(r.values)
}
