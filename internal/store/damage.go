package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/object"
)

// UnreadableError is returned for an object that the log has and cannot read. It is not known what it was, so that nothing can
// be made of it: it is not listed, and no write but its deletion is taken.
type UnreadableError struct {
	Key object.Key
	// Err is what the log says of it.
	Err error
}

func (e *UnreadableError) Error() string { return fmt.Sprintf("%s cannot be read: %v", e.Key, e.Err) }

// Unwrap is what the log says.
func (e *UnreadableError) Unwrap() error { return e.Err }

// DamagedError is returned by New for a log with objects that cannot be read, unless Options.AcceptDamage says to go on
// without them. Nothing was changed.
type DamagedError struct {
	// Damaged are all of them, in the order of their keys.
	Damaged []*UnreadableError
}

// named is how many damaged objects an error names.
const named = 10

func (e *DamagedError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d of its objects are damaged", len(e.Damaged))
	if len(e.Damaged) == 1 {
		text.Reset()
		text.WriteString("one of its objects is damaged")
	}
	for _, d := range e.Damaged[:min(len(e.Damaged), named)] {
		fmt.Fprintf(&text, "\n  %v", d)
	}
	if more := len(e.Damaged) - named; more > 0 {
		fmt.Fprintf(&text, "\n  and %d more", more)
	}
	return text.String()
}

// Damaged are the objects that cannot be read, in the order of their keys; none of a store that is well.
func (s *Store) Damaged() []*UnreadableError { return s.DamagedIn("") }

// DamagedIn is Damaged of a prefix, as Watch takes it; of everything when it is empty.
func (s *Store) DamagedIn(prefix object.Key) []*UnreadableError {
	defer s.state.lock.read().RUnlock()
	if len(s.state.damaged) == 0 {
		return nil
	}
	var found []*UnreadableError
	for _, key := range slices.Sorted(maps.Keys(s.state.damaged)) {
		if prefix == "" || covers(prefix, key) {
			found = append(found, s.state.damaged[key])
		}
	}
	return found
}

// Damage is why the object at a key, which Get does not find, cannot be read; nil when none is there.
func (s *Store) Damage(key object.Key) error {
	defer s.state.lock.read().RUnlock()
	if d := s.state.damaged[key]; d != nil {
		return d
	}
	return nil
}

// damage is a log's telling of what it cannot read.
func (s *state) damage(key object.Key, err error) error {
	if s.damaged == nil {
		s.damaged = map[object.Key]*UnreadableError{}
	}
	s.damaged[key] = &UnreadableError{Key: key, Err: err}
	return nil
}

// assess decides, when everything was loaded, whether to go on without what is damaged. The history does not: who knew an
// object that is listed no longer has to list again, rather than to believe that it is as it was.
func (s *Store) assess(options Options) error {
	if len(s.state.damaged) == 0 {
		return nil
	}
	if !options.AcceptDamage {
		return &DamagedError{Damaged: s.Damaged()}
	}
	s.state.history = newHistory(options.HistoryAge, options.HistoryBytes)
	return nil
}

// discards says whether a change is the deletion of an object that cannot be read, which no watcher knows: it is taken from
// the log without an event. Any other change of such an object is refused. mu is held.
func (s *Store) discards(c Change) (bool, error) {
	damage := s.state.damaged[c.Key]
	if damage == nil {
		return false, nil
	}
	if c.Object != nil || c.Unchanged || c.Expect != Anything() {
		return false, damage
	}
	return true, nil
}
