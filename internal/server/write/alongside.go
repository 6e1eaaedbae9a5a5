package write

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// maxAlongside bounds the size of the objects that plugins change in the commit of another object, in bytes: they are
// decoded and encoded while other commits wait, at about 10 MB/s.
const maxAlongside = 128 << 10

// alongside holds the changes of other objects that plugins add to the commit of an operation: see
// admission.Attributes.Also.
type alongside struct {
	op      *operation
	changes []store.Change
	bytes   int
}

// add implements admission.Attributes.Also.
func (a *alongside) add(gr schema.GroupResource, namespace, name string,
	change func(kind.Object) (kind.Object, error)) error {
	k, served := a.op.Kinds.Stored(gr)
	key := object.KeyOf(gr, namespace, name)
	if current := a.op.Store.Get(key); current != nil {
		a.bytes += len(current.Stored().Bytes())
	}
	if !served {
		return fmt.Errorf("no kind is stored as %s", gr)
	}
	if a.bytes > maxAlongside {
		return tooLargeAlongside(gr, name)
	}
	a.changes = append(a.changes, store.Change{
		Key: key, Quota: a.op.quotaClass(),
		Derive: func(newest *object.Object) (*object.Object, error) {
			if newest == nil {
				return nil, nil
			}
			if len(newest.Stored().Bytes()) > maxAlongside {
				return nil, tooLargeAlongside(gr, name)
			}
			current, err := stored.Shared(kind.CodecOf(k), newest)
			if err != nil {
				return nil, err
			}
			next, err := change(current)
			if err != nil || next == nil {
				return nil, err
			}
			fresh, err := stored.Encode(k, next, newest.Form())
			if err == nil { // so that the next write that changes the object need not decode it
				object.Share(fresh, kind.CodecOf(k), next)
			}
			return fresh, err
		},
	})
	return nil
}

// changesBeside returns the changes, but for one of the object that the operation itself writes.
func (a *alongside) changesBeside(own object.Key) []store.Change {
	return slices.DeleteFunc(slices.Clone(a.changes), func(c store.Change) bool { return c.Key == own })
}

func tooLargeAlongside(gr schema.GroupResource, name string) error {
	return apierrors.NewForbidden(gr, name, fmt.Errorf("the objects that this write changes in its commit exceed %d bytes",
		maxAlongside))
}
