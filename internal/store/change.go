package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bowline-dev/bowline/object"
)

// Change is what a commit does to one key, and what it expects to find there.
type Change struct {
	Key object.Key
	// Object is the new state; nil deletes. The store owns it from a successful commit on, and stamps it; after a commit
	// that failed it may be committed again.
	Object *object.Object
	// Last is, of a deletion, what its event shows as the last state instead of the one that was there: that with a word about why.
	// Its labels and fields are those that were there. It is the store's as Object is, and nothing keeps it but the event: who reads
	// the log again sees what was there.
	Last   *object.Object
	Expect Expect
	// Unchanged leaves the key as it is: the other changes of the commit are made only while it is as expected. Object is nil.
	Unchanged bool
}

// Expect is what a change expects of the state before it. The zero value is Anything.
type Expect struct {
	kind     expectation
	revision object.Revision
}

type expectation uint8

const (
	anything expectation = iota
	absent
	atRevision
)

// Anything always holds. A delete that expects it changes nothing where nothing is, and removes what cannot be read.
func Anything() Expect { return Expect{} }

// Absent holds when the key has no object.
func Absent() Expect { return Expect{kind: absent} }

// At holds when the key's object is the one that was committed at a revision.
func At(revision object.Revision) Expect { return Expect{kind: atRevision, revision: revision} }

func (e Expect) String() string {
	switch e.kind {
	case absent:
		return "it to be absent"
	case atRevision:
		return fmt.Sprintf("it at revision %d", e.revision)
	}
	return "anything"
}

// holds says whether actual, nil for absent, is what is expected.
func (e Expect) holds(actual *object.Object) bool {
	switch e.kind {
	case absent:
		return actual == nil
	case atRevision:
		return actual != nil && actual.Revision == e.revision
	}
	return true
}

// validate finds what no state could make right.
func validate(changes []Change) error {
	for i, c := range changes {
		if c.Key == "" {
			return errors.New("commit: a change has no key")
		}
		if slices.ContainsFunc(changes[:i], func(before Change) bool { return before.Key == c.Key }) { // there are few
			return fmt.Errorf("commit: %s is changed twice", c.Key)
		}
		if c.Object != nil && c.Last != nil {
			return fmt.Errorf("commit: the object at %s has a last state and a next one", c.Key)
		}
		if c.Unchanged && (c.Object != nil || c.Last != nil) {
			return fmt.Errorf("commit: %s is to stay as it is, and has a next state", c.Key)
		}
		if err := c.fits(cmp.Or(c.Object, c.Last)); err != nil {
			return err
		}
	}
	return nil
}

// fits says what is wrong with an object, which may be nil, of the change.
func (c Change) fits(o *object.Object) error {
	switch {
	case o == nil:
	case o.Key != c.Key:
		return fmt.Errorf("commit: the object at %s has the key %s", c.Key, o.Key)
	case o.Revision != 0:
		return fmt.Errorf("commit: the object at %s was committed before, at revision %d", c.Key, o.Revision)
	}
	return nil
}
