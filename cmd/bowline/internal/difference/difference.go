// Package difference compares two states of a plane that package backup reads. It yields added objects,
// removed objects, and fields with different values. It ignores metadata.resourceVersion and
// metadata.managedFields, which change with every write. It also ignores an object of only one state whose
// lifetime has passed by the clock of the other state. For example, an event expires an hour after its last
// write. It masks the values of Secrets.
package difference

import (
	"fmt"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/backup"
)

// Kinds of changes from the first state to the second.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Change describes an object that differs between the two states.
type Change struct {
	Key  object.Key
	What string // Added, Removed or Changed
	// Before and After hold the decoded JSON of the object, without the ignored metadata; integers are int64.
	// They are nil if the object is absent. The values of a Secret are masked.
	Before, After map[string]any
}

// Between yields the changes from one state to the other, in key order. It streams both states and holds
// neither in memory. After it yields an error, it stops. A damaged object is an error, because its content is
// unknown.
func Between(before, after *backup.Reader) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		c := comparison{kind.NewRegistry(builtin.Kinds(object.NewCache(0))...), before.Head().Time, after.Head().Time}
		nextA, stopA := iter.Pull2(before.Objects())
		defer stopA()
		nextB, stopB := iter.Pull2(after.Objects())
		defer stopB()
		a, b := nextWithUID(nextA), nextWithUID(nextB)
		for a.o != nil || b.o != nil || a.err != nil || b.err != nil {
			change, differs, err := c.compare(a, b)
			if err != nil {
				yield(Change{}, err)
				return
			}
			if differs {
				if Masked(change.Key) {
					mask(change.Before, change.After)
				}
				if !yield(change, nil) {
					return
				}
			}
			aFirst, bFirst := a.notAfter(b), b.notAfter(a)
			if aFirst {
				a = nextWithUID(nextA)
			}
			if bFirst {
				b = nextWithUID(nextB)
			}
		}
	}
}

// read is the next object of a state, or the error of reading it; both are nil at the end.
type read struct {
	o   *object.Object
	err error
}

// nextWithUID returns the next object that has a UID. Objects without one are internal to the server.
func nextWithUID(next func() (*object.Object, error, bool)) read {
	for {
		o, err, ok := next()
		if !ok || err != nil || o.UID != "" {
			return read{o, err}
		}
	}
}

// notAfter reports whether r has an object whose key is less than or equal to that of other.
func (r read) notAfter(other read) bool {
	return r.o != nil && (other.o == nil || r.o.Key <= other.o.Key)
}

// comparison decodes and compares objects, whatever form they are stored in.
type comparison struct {
	kinds         *kind.Registry
	before, after time.Time // when the two states were taken
}

// compare compares the next objects of the two states. Of two different keys it processes the lesser one, as
// removed or added.
func (c *comparison) compare(a, b read) (change Change, differs bool, err error) {
	switch {
	case a.err != nil:
		return change, false, fmt.Errorf("reading the first state: %w", a.err)
	case b.err != nil:
		return change, false, fmt.Errorf("reading the second state: %w", b.err)
	case !b.notAfter(a):
		change = Change{Key: a.o.Key, What: Removed}
		change.Before, differs, err = c.onlyInOne(a.o, c.after)
		return change, differs, err
	case !a.notAfter(b):
		change = Change{Key: b.o.Key, What: Added}
		change.After, differs, err = c.onlyInOne(b.o, c.before)
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

// same reports whether two objects are known to be equal without decoding them: they have the same UID and
// revision, or the same stored bytes except for the revision. A false result is inconclusive.
func same(a, b *object.Object) bool {
	return a.UID == b.UID && a.Revision == b.Revision || a.Form() == b.Form() &&
		a.Stored().EqualExceptRevision(b.Stored())
}

// onlyInOne returns the content of an object that only one state has. It reports no difference if the lifetime of
// the object has passed by clock, the time of the other state.
func (c *comparison) onlyInOne(o *object.Object, clock time.Time) (content map[string]any, differs bool, err error) {
	if content, err = c.decode(o); err != nil {
		return nil, false, err
	}
	differs = true
	if k, typed := c.kinds.Stored(o.Key.GroupResource()); typed && k.Info().Lifetime > 0 {
		differs = lastWrite(content).Add(k.Info().Lifetime).After(clock)
	}
	return trimMetadata(content), differs, nil
}

// lastWrite returns the time of the last write recorded in an object's metadata.
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

// content returns an object as decoded JSON, without the ignored metadata.
func (c *comparison) content(o *object.Object) (map[string]any, error) {
	content, err := c.decode(o)
	return trimMetadata(content), err
}

// decode returns an object as decoded JSON. Custom resources are stored as JSON; other objects are converted
// by their kind.
func (c *comparison) decode(o *object.Object) (map[string]any, error) {
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

// trimMetadata removes the metadata that changes with every write from content, and returns content.
func trimMetadata(content map[string]any) map[string]any {
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "resourceVersion")
		delete(metadata, "managedFields")
	}
	return content
}
