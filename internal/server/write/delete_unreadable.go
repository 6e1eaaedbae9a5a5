package write

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/store"
)

// unsafeDelete is the permission to delete objects that cannot be read or decoded (KEP-3926).
const unsafeDelete = "unsafe-delete-ignore-read-errors"

// ignoresUnreadable reports whether a delete is only meant for an object that cannot be decoded (KEP-3926).
func ignoresUnreadable(o *metav1.DeleteOptions) bool {
	ignore := o.IgnoreStoreReadErrorWithClusterBreakingPotential
	return ignore != nil && *ignore
}

// removeUnreadable removes an object that cannot be decoded, without admission, preconditions and finalizers. It
// rejects the delete of an object that can be decoded. It requires a separate permission.
func (op *removal) removeUnreadable() error {
	req, current := op.req, op.current
	if err := req.May(req.Context(), unsafeDelete); err != nil {
		return err
	}
	if _, err := current.Decode(req.Codec()); err == nil {
		return apierrors.NewConflict(req.Resource(), current.Key.Name(),
			errors.New("unsafe deletion is not allowed because the object is decodable from storage"))
	}
	if len(op.options.DryRun) > 0 {
		return nil
	}
	return op.discard(store.Change{Key: current.Key, Expect: store.At(current.Revision)})
}

// discard commits the removal of an object that cannot be decoded, with that of its claims.
func (op *removal) discard(change store.Change) error {
	ctx, changes := op.req.Context(), []store.Change{change}
	address := op.req.Stored == kind.IPAddresses && op.req.Info.Builtin
	switch {
	case op.req.Info.Claims: // they record their owner
		snapshot, err := op.Store.Snapshot(ctx, store.Latest())
		if err != nil {
			return err
		}
		changes = append(changes, op.claims.Drop(snapshot, change.Key)...)
	case address:
		more, err := op.claims.Retain(ctx, change.Key, nil)
		if err != nil {
			return err
		}
		changes = append(changes, more...)
	}
	op.req.Spans.At(stage.Commit)
	if _, err := op.Store.Commit(ctx, changes...); err != nil {
		return err
	}
	if address {
		op.restoreAddress(ctx, change.Key)
	}
	return nil
}

// removeDamaged removes an object that the store cannot read, without admission, preconditions and finalizers, and
// without regard to its dependents. It requires a separate permission.
func (op *removal) removeDamaged(key object.Key) error {
	req, o := op.req, op.options
	if err := req.May(req.Context(), unsafeDelete); err != nil {
		return err
	}
	if p := o.Preconditions; p != nil && (p.UID != nil || p.ResourceVersion != nil) {
		return apierrors.NewConflict(req.Resource(), key.Name(), errors.New("it is damaged and cannot be read: "+
			"its uid and resourceVersion are unknown; delete it without preconditions"))
	}
	if len(o.DryRun) > 0 {
		return nil
	}
	if err := op.discard(store.Change{Key: key, Expect: store.Anything()}); err != nil {
		return err
	}
	op.Log.Warn("an object that could not be read was deleted", "key", key, "user", req.User.Name)
	req.Warn(fmt.Sprintf("%s %q could not be read: it was deleted without regard to its finalizers and to what it "+
		"owned", req.Resource(), status.Name(key)))
	return nil
}
