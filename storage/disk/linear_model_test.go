package disk_test

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// registerModel is the sequential specification, in which clients send one request after the other.
var registerModel = porcupine.Model{
	Init: func() any { return registerState{} },
	Step: func(state, in, out any) (bool, any) {
		s := state.(registerState)
		ok := s.step(in.(question), out.(response))
		return ok, s
	},
}

// registerState is the state of all keys, and the highest revision in any answer.
type registerState struct {
	cells [3]cell
	last  uint64
}

// step returns the state after a request, and reports whether the answer is correct.
func (s *registerState) step(in question, out response) bool {
	if in.verb == "list" {
		return s.list(out)
	}
	c := &s.cells[in.key]
	if want := in.outcome(*c); out.outcome != "unknown" && out.outcome != want {
		return false
	} else if want != "ok" {
		return true
	}
	switch in.verb {
	case "get":
		return s.learn(in.key, out.cell)
	case "delete":
		*c = cell{}
		return true
	}
	*c = cell{there: true, value: in.value}
	if out.outcome == "unknown" {
		return true
	}
	newer := out.cell.revision > s.last
	return newer && s.learn(in.key, out.cell)
}

// outcome returns how a request of a key that finds a cell ends. No client names a revision that was in no
// answer.
func (in question) outcome(found cell) string {
	switch {
	case in.verb == "create" && found.there:
		return "exists"
	case in.verb == "create":
		return "ok"
	case !found.there:
		return "absent"
	case in.verb != "get" && in.revision != 0 && in.revision != found.revision:
		return "conflict"
	}
	return "ok"
}

// learn reports whether a key is as it was shown, and records its revision.
func (s *registerState) learn(key int, shown cell) bool {
	c := &s.cells[key]
	if shown.there != c.there || shown.value != c.value || c.there && shown.revision == 0 {
		return false
	}
	if c.revision != 0 && shown.revision != c.revision {
		return false
	}
	c.revision = shown.revision
	s.last = max(s.last, shown.revision)
	return true
}

// list reports whether all keys are as a list shows them, at a revision that is not older than any in an
// answer.
func (s *registerState) list(out response) bool {
	for key, shown := range out.cells {
		if !s.learn(key, shown) {
			return false
		}
	}
	current := out.revision >= s.last
	s.last = max(s.last, out.revision)
	return current
}

// The model refuses answers that are never correct.
func TestRegisterModelRefuses(t *testing.T) {
	t.Parallel()
	ok := func(value string, revision uint64) response {
		return response{outcome: "ok", cell: cell{there: true, value: value, revision: revision}}
	}
	create := porcupine.Operation{Input: question{verb: "create", value: "1"}, Output: ok("1", 5), Call: 1, Return: 2}
	lost := porcupine.Operation{
		Input: question{verb: "update", value: "2"}, Output: response{outcome: "unknown"}, Call: 3, Return: 100,
	}
	here := [3]cell{{true, "1", 5}}
	for name, test := range map[string]struct {
		in    question
		out   response
		right bool
	}{
		"a stale read":                  {question{verb: "get"}, response{outcome: "absent"}, false},
		"a read of what may have been":  {question{verb: "get"}, ok("2", 6), true},
		"a read of what was before":     {question{verb: "get"}, ok("1", 5), true},
		"another revision of one state": {question{verb: "get"}, ok("1", 6), false},
		"a second creation":             {question{verb: "create", value: "3"}, ok("3", 7), false},
		"an update of another revision": {question{verb: "update", value: "3", revision: 4}, ok("3", 7), false},
		"a conflict without a reason":   {question{verb: "update", value: "3"}, response{outcome: "conflict"}, false},
		"a conflict with what may be": {question{verb: "update", value: "3", revision: 5},
			response{outcome: "conflict"}, true},
		"an update that goes back":  {question{verb: "update", value: "3"}, ok("3", 4), false},
		"a list without the object": {question{verb: "list"}, response{outcome: "ok", revision: 9}, false},
		"a list from before the object": {question{verb: "list"}, response{outcome: "ok", revision: 4, cells: here},
			false},
		"a list with the object": {question{verb: "list"}, response{outcome: "ok", revision: 9, cells: here},
			true},
		"a deletion of another revision": {question{verb: "delete", revision: 4}, response{outcome: "ok"}, false},
	} {
		after := porcupine.Operation{Input: test.in, Output: test.out, Call: 4, Return: 5}
		if got := porcupine.CheckOperations(registerModel,
			[]porcupine.Operation{create, lost, after}); got != test.right {
			t.Errorf("%s: it is linearizable: %v", name, got)
		}
	}
}
