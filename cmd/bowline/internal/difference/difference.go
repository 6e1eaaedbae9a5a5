// Package difference says what differs between two states of a plane, as package backup reads them: which objects one has
// and the other has not, and which fields of an object have another value. What changes with every write, whatever it says,
// is left out: metadata.resourceVersion and metadata.managedFields. So are objects that have had their time where they are
// absent, as events have an hour after they were written.
package difference

import (
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/store/backup"
	"github.com/bowline-dev/bowline/object"
)

// What becomes of an object from one state to the other.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Change is an object that differs.
type Change struct {
	Key  object.Key
	What string // Added, Removed or Changed
	// Before and After are the object as JSON reads, without what changes with every write; nil where it is absent.
	Before, After map[string]any
}

// Between yields what differs between two states, in the order of keys, as it reads them: neither is held in memory. An error
// is the last thing that it yields; damage is one, since nobody can say what the damaged object was.
func Between(before, after *backup.Reader) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		c := comparison{kind.NewRegistry(builtin.Kinds(object.NewCache(0))...), before.Head().Time, after.Head().Time}
		nextA, stopA := iter.Pull2(before.Objects())
		defer stopA()
		nextB, stopB := iter.Pull2(after.Objects())
		defer stopB()
		a, b := take(nextA), take(nextB)
		for a.o != nil || b.o != nil || a.err != nil || b.err != nil {
			change, differs, err := c.compare(a, b)
			if err != nil {
				yield(Change{}, err)
				return
			}
			if differs && !yield(change, nil) {
				return
			}
			aFirst, bFirst := a.first(b), b.first(a)
			if aFirst {
				a = take(nextA)
			}
			if bFirst {
				b = take(nextB)
			}
		}
	}
}

// read is what stands next in a state: nothing at its end.
type read struct {
	o   *object.Object
	err error
}

// take reads the next object that users know of: those without a uid are the server's own.
func take(next func() (*object.Object, error, bool)) read {
	for {
		o, err, ok := next()
		if !ok || err != nil || o.UID != "" {
			return read{o, err}
		}
	}
}

// first says whether r stands before the other, or beside it.
func (r read) first(other read) bool {
	return r.o != nil && (other.o == nil || r.o.Key <= other.o.Key)
}

// comparison reads objects whatever form they are stored in.
type comparison struct {
	kinds         *kind.Registry
	before, after time.Time // the clocks of the two states
}

// compare looks at what stands first of the two.
func (c *comparison) compare(a, b read) (change Change, differs bool, err error) {
	switch {
	case a.err != nil:
		return change, false, fmt.Errorf("the first state: %w", a.err)
	case b.err != nil:
		return change, false, fmt.Errorf("the second state: %w", b.err)
	case !b.first(a):
		change = Change{Key: a.o.Key, What: Removed}
		change.Before, differs, err = c.alone(a.o, c.after)
		return change, differs, err
	case !a.first(b):
		change = Change{Key: b.o.Key, What: Added}
		change.After, differs, err = c.alone(b.o, c.before)
		return change, differs, err
	case same(a.o, b.o):
		return change, false, nil
	}
	change = Change{Key: a.o.Key, What: Changed}
	if change.Before, err = c.content(a.o); err != nil {
		return change, false, err
	}
	if change.After, err = c.content(b.o); err != nil {
		return change, false, err
	}
	return change, len(Fields(change.Before, change.After)) > 0, nil
}

// same says that two objects are alike without reading them: nobody wrote one since they were one.
func same(a, b *object.Object) bool {
	return a.UID == b.UID && a.Revision == b.Revision || a.Form() == b.Form() && a.Stored().EqualExceptRevision(b.Stored())
}

// alone is the content of an object that is in one state only, and whether that says anything: its time was not over by the clock
// of the other one.
func (c *comparison) alone(o *object.Object, clock time.Time) (content map[string]any, differs bool, err error) {
	if content, err = c.whole(o); err != nil {
		return nil, false, err
	}
	differs = true
	if k, typed := c.kinds.Stored(o.Key.GroupResource()); typed && k.Info().Lifetime > 0 {
		differs = lastWrite(content).Add(k.Info().Lifetime).After(clock)
	}
	return trimmed(content), differs, nil
}

// lastWrite is when an object was written last, as far as its server has noted.
func lastWrite(content map[string]any) (last time.Time) {
	obj := unstructured.Unstructured{Object: content}
	last = obj.GetCreationTimestamp().Time
	for _, by := range obj.GetManagedFields() {
		if by.Time != nil && by.Time.After(last) {
			last = by.Time.Time
		}
	}
	return last
}

// content is an object as JSON reads, without what changes with every write.
func (c *comparison) content(o *object.Object) (map[string]any, error) {
	content, err := c.whole(o)
	return trimmed(content), err
}

// whole is an object as JSON reads. Custom resources are stored so; of other kinds their kind makes it.
func (c *comparison) whole(o *object.Object) (map[string]any, error) {
	data := o.Stored().Bytes()
	if k, typed := c.kinds.Stored(o.Key.GroupResource()); typed {
		form := object.Form{APIVersion: k.Info().Endpoints[0].APIVersion()}
		encoding, err := o.Encoding(k, form)
		if err != nil {
			return nil, err
		}
		data = encoding.Bytes()
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Key, err)
	}
	return content, nil
}

func trimmed(content map[string]any) map[string]any {
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "resourceVersion")
		delete(metadata, "managedFields")
	}
	return content
}
