package store

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/bowline-dev/bowline/internal/object"
)

// Change is the effect of a commit on one key, with a precondition.
type Change struct {
	Key object.Key
	// Object is the new state; nil deletes. The store owns it from a successful commit on, and stamps it;
	// after a failed commit it may be committed again.
	Object *object.Object
	// Last is set only for a deletion. Its event then shows Last instead of the state that was deleted, for example
	// to add why the object was rejected. Its labels and fields must equal those of the deleted state. The store
	// owns it like Object. It is not logged: after a restart the event shows the deleted state.
	Last   *object.Object
	Expect Expect
	// Unchanged leaves the key unchanged: the commit only checks Expect. Object is nil.
	Unchanged bool
	// Derive computes the new state from the newest one, nil if the key is absent. The newest state may belong to a
	// commit that is still pending: writers of one counter neither wait for each other nor conflict. If Derive returns
	// nil, the key is left unchanged. Commit returns the error of Derive. The store calls Derive while it holds a lock,
	// and again if it retries the commit: Derive must be quick and must not use the store. Object, Last and Unchanged
	// must not be set.
	Derive func(newest *object.Object) (*object.Object, error)
	// Quota is how the change is treated when the store's quota is reached.
	Quota QuotaClass
}

// Expect is a precondition on the state of a key before a change. The zero value is Anything.
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

// Anything always holds. A deletion that expects it ignores an absent key and removes an unreadable object.
func Anything() Expect { return Expect{} }

// Absent holds if the key has no object.
func Absent() Expect { return Expect{kind: absent} }

// At holds if the key's object was committed at this revision.
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

// holds reports whether actual, nil for absent, meets the precondition.
func (e Expect) holds(actual *object.Object) bool {
	switch e.kind {
	case absent:
		return actual == nil
	case atRevision:
		return actual != nil && actual.Revision == e.revision
	}
	return true
}

// validate checks what does not depend on the state of the store.
func validate(changes []Change) error {
	for i, c := range changes {
		if c.Key == "" {
			return errors.New("commit: a change has no key")
		}
		// changes are few
		if slices.ContainsFunc(changes[:i], func(before Change) bool { return before.Key == c.Key }) {
			return fmt.Errorf("commit: two changes have the key %s", c.Key)
		}
		if c.Object != nil && c.Last != nil {
			return fmt.Errorf("commit: the change of %s has both a new state and Last, which is only for deletions",
				c.Key)
		}
		if c.Derive != nil && (c.Object != nil || c.Last != nil || c.Unchanged) {
			return fmt.Errorf("commit: the change of %s has Derive with Object, Last or Unchanged", c.Key)
		}
		if c.Unchanged && (c.Object != nil || c.Last != nil) {
			return fmt.Errorf("commit: the change of %s is marked unchanged, but has a state", c.Key)
		}
		if err := c.checkObject(cmp.Or(c.Object, c.Last)); err != nil {
			return err
		}
	}
	return nil
}

// derive calls Derive. A panic must not leave the store locked.
func (c Change) derive(newest *object.Object) (next *object.Object, err error) {
	defer func() {
		if p := recover(); p != nil {
			next, err = nil, fmt.Errorf("commit: deriving the state of %s: panic: %v\n%s", c.Key, p, debug.Stack())
		}
	}()
	next, err = c.Derive(newest)
	if err != nil {
		return nil, err
	}
	return next, c.checkObject(next)
}

// checkObject checks that an object, which may be nil, belongs to the change.
func (c Change) checkObject(o *object.Object) error {
	switch {
	case o == nil:
	case o.Key != c.Key:
		return fmt.Errorf("commit: the change of %s has an object with the key %s", c.Key, o.Key)
	case o.Revision != 0:
		return fmt.Errorf("commit: the object of %s was already committed, at revision %d", c.Key, o.Revision)
	}
	return nil
}
