// Package robustness re-checks what a store promised: from a recorded history, what clients asked and what they were
// answered, it works out which commits there were, and looks for every answer that breaks a guarantee. The guarantees of
// watches have the names of etcd's robustness tests (tests/robustness/validate): filtered, ordered, unique, atomic, reliable,
// resumable, bookmarkable, is-create and previous value.
//
// It is the second opinion: it imports nothing of the project, so that a mistake in the store cannot hide in here too. Tests
// alone use it; package storetest records histories for it.
package robustness

import "strings"

// History is all that the clients of one store did and saw. Every value in it is written once, so that it tells who wrote it.
type History struct {
	// Base is the revision of the empty store that the clients began with.
	Base uint64
	// Others says that revisions without a write of the history are somebody else's, of keys that it never names. Otherwise
	// each commit adds one to the revision, and all commits are of the history.
	Others  bool
	Writes  []Write
	Watches []Watch
	Lists   []List
}

// Outcome is what a client knows of its write.
type Outcome string

// What comes of a write: it is there at its revision; it never was; or it may be either.
const (
	Acknowledged Outcome = "acknowledged"
	Refused      Outcome = "refused"
	Unknown      Outcome = "unknown"
)

// Write is one commit. Call and Return are when it was asked for and answered, by a clock that all clients share.
type Write struct {
	Call, Return int64
	Changes      []Change
	Outcome      Outcome
	Revision     uint64 // of an acknowledged write
}

// Change is what a write does to a key. Value is what it holds then or, of a deletion, what it held, if its writer knows. Expect is
// what the key must be: anything if nil, absent if 0, else at a revision.
type Change struct {
	Key     string
	Value   string
	Deleted bool
	Expect  *uint64
}

// State is what a key holds, and since which revision.
type State struct {
	Value    string
	Revision uint64
}

// Where is what a watch or list is about: keys that begin with Prefix, if that ends with a slash, else that key; and of them
// those whose value begins with Value.
type Where struct{ Prefix, Value string }

// holds says whether a state of a key, nil when it is absent, is within.
func (w Where) holds(key string, s *State) bool {
	return s != nil && w.names(key) && strings.HasPrefix(s.Value, w.Value)
}

func (w Where) names(key string) bool {
	return key == w.Prefix || strings.HasSuffix(w.Prefix, "/") && strings.HasPrefix(key, w.Prefix)
}

// Watch is what one watch answered, from its beginning to its end. A watch that resumes another is a watch of its own.
type Watch struct {
	Where Where
	After uint64
	// Whole says that a response never parts the events of a commit; Previous, that events carry the state before them.
	Whole, Previous bool
	Responses       []Response
}

// Response is what a watch answers at once. A bookmark, unless it is 0, comes after the events.
type Response struct {
	Events   []Event
	Bookmark uint64
}

// Event says that a key came to be, changed, or went: to this watch, which may see a part of the states only. The value of a
// key that went is the last one that the watch saw.
type Event struct {
	Type     string // ADDED, MODIFIED, DELETED
	Key      string
	Value    string
	Revision uint64
	Previous *State
}

// List is a read of all that is within Where, as it was at a revision. Latest says that it must show what was acknowledged
// before Call.
type List struct {
	Where    Where
	Call     int64
	Latest   bool
	Revision uint64
	Items    map[string]State
}
