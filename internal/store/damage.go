package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/object"
)

// UnreadableError is returned for an object in the log that cannot be read. Its contents are unknown: it is
// not listed, and the only write accepted for it is its deletion.
type UnreadableError struct {
	Key object.Key
	// Err is the log's error.
	Err error
}

func (e *UnreadableError) Error() string { return fmt.Sprintf("%s cannot be read: %v", e.Key, e.Err) }

// Unwrap returns the log's error.
func (e *UnreadableError) Unwrap() error { return e.Err }

// DamagedError is returned by New for a log with unreadable objects, unless Options.AcceptDamage is set.
// Nothing was changed.
type DamagedError struct {
	// Damaged lists all unreadable objects in key order.
	Damaged []*UnreadableError
}

// maxNamed is the maximum number of damaged objects named in an error.
const maxNamed = 10

func (e *DamagedError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d of its objects are damaged", len(e.Damaged))
	if len(e.Damaged) == 1 {
		text.Reset()
		text.WriteString("one of its objects is damaged")
	}
	for _, d := range e.Damaged[:min(len(e.Damaged), maxNamed)] {
		fmt.Fprintf(&text, "\n  %v", d)
	}
	if more := len(e.Damaged) - maxNamed; more > 0 {
		fmt.Fprintf(&text, "\n  and %d more", more)
	}
	return text.String()
}

// Damaged returns the unreadable objects in key order.
func (s *Store) Damaged() []*UnreadableError { return s.DamagedIn("") }

// DamagedIn returns the unreadable objects of a prefix, as Watch defines it; all of them if the prefix is
// empty.
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

// Damage returns why the object at a key cannot be read, nil if the key has no unreadable object. Get does
// not find such an object.
func (s *Store) Damage(key object.Key) error {
	defer s.state.lock.read().RUnlock()
	if d := s.state.damaged[key]; d != nil {
		return d
	}
	return nil
}

// damage records an unreadable object that the log reports.
func (s *state) damage(key object.Key, err error) error {
	if s.damaged == nil {
		s.damaged = map[object.Key]*UnreadableError{}
	}
	s.damaged[key] = &UnreadableError{Key: key, Err: err}
	return nil
}

// checkDamage is called after loading. If there are damaged objects, it returns an error unless AcceptDamage is set.
// Otherwise it discards the history, which prevents watches from resuming: a client that knows a missing object must
// list again instead of assuming that the object is unchanged.
func (s *Store) checkDamage(options Options) error {
	if len(s.state.damaged) == 0 {
		return nil
	}
	if !options.AcceptDamage {
		return &DamagedError{Damaged: s.Damaged()}
	}
	s.state.history = newHistory(options.HistoryAge, options.HistoryBytes)
	return nil
}

// discards reports whether a change deletes an unreadable object unconditionally. No watcher knows the object, so it
// is removed from the log without an event. For any other change of such an object discards returns an error. The
// caller holds mu.
func (c *committer) discards(change Change) (bool, error) {
	damage := c.state.damaged[change.Key]
	if damage == nil {
		return false, nil
	}
	if change.Object != nil || change.Unchanged || change.Derive != nil || change.Expect != Anything() {
		return false, damage
	}
	return true, nil
}
