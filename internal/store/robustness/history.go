// Package robustness checks recorded histories of a store. From the requests of the clients and their
// responses it reconstructs the commits, then reports every response that breaks a guarantee. The guarantees
// of watches are named as in etcd's robustness tests (tests/robustness/validate): filtered, ordered, unique,
// atomic, reliable, resumable, bookmarkable, is-create and previous value.
//
// The package imports nothing else of the project, so that a bug in the store cannot hide an error from the
// check. Only tests use it; package storetest records histories for it.
package robustness

import "strings"

// History records what the clients of one store did and observed. Each value is written only once and thus
// identifies its write.
type History struct {
	// Base is the revision of the empty store at the start.
	Base uint64
	// Others reports whether clients outside the history also wrote to the store. Their writes explain
	// revisions without a recorded write, and never change a key of the history. If false, each commit
	// increments the revision by one and is part of the history.
	Others  bool
	Writes  []Write
	Watches []Watch
	Lists   []List
}

// Outcome is what the client learned about its write.
type Outcome string

// The outcomes of a write: committed at its revision, not committed, or either.
const (
	Acknowledged Outcome = "acknowledged"
	Refused      Outcome = "refused"
	Unknown      Outcome = "unknown"
)

// Write is one commit. Call and Return are the times of request and response, by a clock that all clients
// share.
type Write struct {
	Call, Return int64
	Changes      []Change
	Outcome      Outcome
	Revision     uint64 // set if the write was acknowledged
}

// Change is the effect of a write on one key. Value is the new value; for a deletion it is the deleted value,
// if the writer knows it. Expect is the precondition: nil for none, 0 if the key must be absent, else the
// revision of its state.
type Change struct {
	Key     string
	Value   string
	Deleted bool
	Expect  *uint64
}

// State is the value of a key and the revision that wrote it.
type State struct {
	Value    string
	Revision uint64
}

// Where selects states for a watch or a list: the keys that begin with Prefix if it ends with a slash,
// otherwise the key Prefix alone; and of these the states whose value begins with Value.
type Where struct{ Prefix, Value string }

// holds reports whether w selects a state of a key. The state is nil if the key is absent.
func (w Where) holds(key string, s *State) bool {
	return s != nil && w.names(key) && strings.HasPrefix(s.Value, w.Value)
}

func (w Where) names(key string) bool {
	return key == w.Prefix || strings.HasSuffix(w.Prefix, "/") && strings.HasPrefix(key, w.Prefix)
}

// Watch records the responses of one watch from start to end. A watch that resumes another is recorded
// separately.
type Watch struct {
	Where Where
	After uint64
	// Whole: each commit's events arrive in one response. Previous: events carry the state before them.
	Whole, Previous bool
	Responses       []Response
}

// Response is one message of a watch. A nonzero Bookmark follows the events.
type Response struct {
	Events   []Event
	Bookmark uint64
}

// Event reports that a key was added, modified or deleted, from the perspective of a watch that may select
// only some states. The value of a deletion is the last one that the watch selected.
type Event struct {
	Type     string // ADDED, MODIFIED, DELETED
	Key      string
	Value    string
	Revision uint64
	Previous *State
}

// List records a read of all states selected by Where at a revision. If Latest is set, it must include
// everything that was acknowledged before Call.
type List struct {
	Where    Where
	Call     int64
	Latest   bool
	Revision uint64
	Items    map[string]State
}
