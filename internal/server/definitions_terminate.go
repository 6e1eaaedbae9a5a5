package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apiextensions"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// refuses returns the 403 of a create while the resource's definition is being deleted.
func (d *definitions) refuses(gr schema.GroupResource, verb string) error {
	if _, ending := d.terminating.Load(gr); !ending {
		return nil
	}
	return apierrors.NewForbidden(gr, "",
		fmt.Errorf("%s not allowed while custom resource definition is terminating", verb))
}

// undo removes an instance that was committed while its definition was being deleted, after the other
// instances were listed: it would remain when the definition is gone.
func (d *definitions) undo(ctx context.Context, c *call, committed *object.Object) error {
	err := d.refuses(c.stored(), c.verb)
	if _, served := d.s.kinds.Stored(c.stored()); !served {
		err = noResource()
	}
	if err == nil {
		return nil
	}
	_, failed := d.s.store.Commit(ctx, store.Change{Key: committed.Key, Expect: store.At(committed.Revision)})
	if failed != nil && !isConflict(failed) {
		return failed
	}
	return err
}

// terminate deletes the instances of a deleted definition. Instances that nothing holds are deleted at once;
// a goroutine waits for the others.
func (d *definitions) terminate(ctx context.Context, current *object.Object,
	crd *apiextensionsv1.CustomResourceDefinition) error {
	if !slices.Contains(crd.Finalizers, apiextensions.Finalizer) || d.cleaning[current.Key] {
		return nil
	}
	if !apiextensions.IsEstablished(crd) { // its names may belong to another kind, whose objects are not its instances
		return d.release(ctx, current.Key)
	}
	ctx = d.s.ctx // a disconnecting client must not interrupt it
	gr := resourceOf(crd)
	d.terminating.Store(gr, struct{}{})
	left, err := d.deleteInstances(ctx, gr)
	if err == nil && left == 0 {
		return d.release(ctx, current.Key)
	}
	if err := d.report(current.Key, err); err != nil {
		return err
	}
	if d.s.begin() {
		d.cleaning[current.Key] = true
		go func() {
			defer d.s.work.Done()
			d.clean(current.Key, gr)
		}()
	}
	return nil
}

// report writes the progress of the deletion to the definition's status; the caller holds mu.
func (d *definitions) report(key object.Key, failed error) error {
	for {
		current, crd, err := d.find(key)
		if current == nil || err != nil {
			return err
		}
		changed := false
		if failed != nil {
			changed = apiextensions.SetInstancesNotDeleted(crd, failed, metav1.Now())
		} else {
			changed = apiextensions.SetInstancesDeleting(crd, metav1.Now())
		}
		if !changed {
			return nil
		}
		if _, err := d.commit(d.s.ctx, current, crd); !isConflict(err) {
			return err
		}
	}
}

// progress reports that the deletion of the instances continues.
func (d *definitions) progress(key object.Key) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.report(key, nil)
}

// The delay before clean retries, initially and at most.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// clean waits until the instances are gone, then releases the definition. It reports a failure in the status
// and retries until the server closes.
func (d *definitions) clean(key object.Key, gr schema.GroupResource) {
	for wait := firstRetry; d.cleanOnce(key, gr) != nil; wait = min(2*wait, lastRetry) {
		select {
		case <-time.After(wait):
		case <-d.s.ctx.Done():
			return
		}
	}
}

func (d *definitions) cleanOnce(key object.Key, gr schema.GroupResource) error {
	err := d.awaitNone(key, gr)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		err = d.release(d.s.ctx, key)
	}
	if err == nil {
		delete(d.cleaning, key)
		return nil
	}
	if d.s.ctx.Err() == nil {
		d.s.log.Warn("the instances of a deleted definition could not be deleted; it is tried again", "definition",
			key.Name(), "error", err)
		d.report(key, err)
	}
	return err
}

// awaitNone deletes instances until there are none.
func (d *definitions) awaitNone(key object.Key, gr schema.GroupResource) error {
	prefix := object.Prefix(gr, "")
	watch, err := d.s.store.Watch(prefix, d.s.store.Current())
	if err != nil {
		return err
	}
	defer watch.Stop()
	for {
		changed := watch.Changed()
		if _, err := watch.Take(batch); err != nil {
			return err
		}
		left, err := d.deleteInstances(d.s.ctx, gr)
		if err != nil || left == 0 {
			return err
		}
		if err := d.progress(key); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-d.s.ctx.Done():
			return d.s.ctx.Err()
		}
	}
}

// deleteInstances deletes the instances that nothing holds, marks the others as deleted, and counts them. It
// continues after an error.
func (d *definitions) deleteInstances(ctx context.Context, gr schema.GroupResource) (left int, err error) {
	k, served := d.s.kinds.Stored(gr)
	if !served {
		return 0, nil
	}
	snapshot, err := d.s.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return 0, err
	}
	var errs []error
	snapshot.Scan(object.Prefix(gr, ""), "", func(o *object.Object) bool {
		held, err := d.deleteInstance(ctx, k, o)
		if err != nil {
			errs = append(errs, err)
		}
		if held {
			left++
		}
		return ctx.Err() == nil
	})
	return left, utilerrors.NewAggregate(errs)
}

// deleteInstance deletes one object; held reports whether it still exists. After a conflict a later round
// retries.
func (d *definitions) deleteInstance(ctx context.Context, k kind.Kind, current *object.Object) (held bool, err error) {
	obj, err := decoded(k, current)
	if err != nil {
		return true, err
	}
	change := store.Change{Key: current.Key, Expect: store.At(current.Revision)}
	if len(obj.GetFinalizers()) > 0 {
		if obj.GetDeletionTimestamp() != nil {
			return true, nil
		}
		markDeleted(obj, 0, false)
		held = true
		if change.Object, err = encode(k, obj, current.Form()); err != nil {
			return true, err
		}
	}
	if _, err = d.s.store.Commit(ctx, change); isConflict(err) {
		return true, nil
	}
	return held, err
}

// release removes the finalizer of a definition without instances, which deletes it.
func (d *definitions) release(ctx context.Context, key object.Key) error {
	for {
		current, crd, err := d.find(key)
		if current == nil || err != nil {
			return err
		}
		if crd.DeletionTimestamp == nil {
			return nil
		}
		apiextensions.SetInstancesDeleted(crd, metav1.Now())
		if len(crd.Finalizers) > 0 {
			_, err = d.commit(ctx, current, crd)
		} else if _,
			err = d.s.store.Commit(ctx, store.Change{Key: key, Expect: store.At(current.Revision)}); err == nil {
			return d.removed(ctx, current)
		}
		if !isConflict(err) {
			return err
		}
	}
}
