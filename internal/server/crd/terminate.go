package crd

import (
	"context"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apiextensions"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// terminate deletes the instances of a deleted definition. Instances without finalizers are deleted at once; a
// goroutine waits for the others. The caller holds mu.
func (d *Definitions) terminate(ctx context.Context, current *object.Object,
	crd *apiextensionsv1.CustomResourceDefinition) error {
	if !slices.Contains(crd.Finalizers, apiextensions.Finalizer) || d.deleting[current.Key] {
		return nil
	}
	if !apiextensions.IsEstablished(crd) { // its names may belong to another kind, whose objects are not its instances
		return d.finish(ctx, current.Key)
	}
	ctx = d.tasks.Context() // a disconnecting client must not interrupt it
	gr := resourceOf(crd)
	d.terminating.Store(gr, struct{}{})
	left, err := d.deleteInstances(ctx, gr)
	if err == nil && left == 0 {
		return d.finish(ctx, current.Key)
	}
	if err := d.reportProgress(current.Key, err); err != nil {
		return err
	}
	if task := "deletion of all " + gr.String(); d.tasks.Begin(task) {
		d.deleting[current.Key] = true
		go func() {
			defer d.tasks.Done(task)
			d.deleteInBackground(current.Key, gr)
		}()
	}
	return nil
}

// The delay before deleteInBackground retries, initially and at most.
const (
	minRetryDelay = time.Second
	maxRetryDelay = time.Minute
)

// deleteInBackground waits until the instances are gone, then deletes the definition. It reports a failure in the
// status and retries until the server closes.
func (d *Definitions) deleteInBackground(key object.Key, gr schema.GroupResource) {
	ctx := d.tasks.Context()
	for delay := minRetryDelay; ; delay = min(2*delay, maxRetryDelay) {
		err := d.waitForInstances(ctx, key, gr)
		d.mu.Lock()
		if err == nil {
			err = d.finish(ctx, key)
		}
		switch {
		case err == nil:
			delete(d.deleting, key)
		case ctx.Err() == nil:
			d.log.Warn("the instances of a deleted definition could not be deleted, retrying", "definition",
				key.Name(), "error", err)
			d.reportProgress(key, err)
		}
		d.mu.Unlock()
		if err == nil {
			return
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return
		}
	}
}

// waitForInstances deletes instances until there are none.
func (d *Definitions) waitForInstances(ctx context.Context, key object.Key, gr schema.GroupResource) error {
	watch, err := d.store.Watch(object.Prefix(gr, ""), d.store.Current())
	if err != nil {
		return err
	}
	defer watch.Stop()
	for {
		changed := watch.Changed()
		if _, err := watch.Take(256); err != nil {
			return err
		}
		left, err := d.deleteInstances(ctx, gr)
		if err != nil || left == 0 {
			return err
		}
		d.mu.Lock()
		err = d.reportProgress(key, nil)
		d.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// deleteInstances deletes the instances without finalizers, marks the others as deleted, and counts those that remain.
// It continues after an error.
func (d *Definitions) deleteInstances(ctx context.Context, gr schema.GroupResource) (left int, err error) {
	k, served := d.kinds.Stored(gr)
	if !served {
		return 0, nil
	}
	snapshot, err := d.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return 0, err
	}
	var errs []error
	snapshot.Scan(object.Prefix(gr, ""), "", func(o *object.Object) bool {
		remains, err := d.deleteInstance(ctx, k, o)
		if err != nil {
			errs = append(errs, err)
		}
		if remains {
			left++
		}
		return ctx.Err() == nil
	})
	return left, utilerrors.NewAggregate(errs)
}

// deleteInstance deletes one object, and reports whether it still exists. After a conflict, the next call of
// deleteInstances retries.
func (d *Definitions) deleteInstance(ctx context.Context, k kind.Kind,
	current *object.Object) (remains bool, err error) {
	obj, err := stored.Decode(k, current)
	if err != nil {
		return true, err
	}
	change := store.Change{Key: current.Key, Expect: store.At(current.Revision)}
	if len(obj.GetFinalizers()) > 0 {
		if obj.GetDeletionTimestamp() != nil {
			return true, nil
		}
		stored.MarkDeleted(obj, 0, false)
		remains = true
		if change.Object, err = stored.Encode(k, obj, current.Form()); err != nil {
			return true, err
		}
	}
	if _, err = d.store.Commit(ctx, change); store.IsConflict(err) {
		return true, nil
	}
	return remains, err
}

// reportProgress sets the condition Terminating of a definition whose instances are being deleted. failed is the error
// of the deletion, nil if it continues. The caller holds mu.
func (d *Definitions) reportProgress(key object.Key, failed error) error {
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
		if _, err := d.commit(d.tasks.Context(), current, crd); !store.IsConflict(err) {
			return err
		}
	}
}

// finish removes the finalizer of a deleted definition without instances, and deletes the definition unless it has
// other finalizers. The caller holds mu.
func (d *Definitions) finish(ctx context.Context, key object.Key) error {
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
		} else if _, err = d.store.Commit(ctx,
			store.Change{Key: key, Expect: store.At(current.Revision)}); err == nil {
			return d.remove(ctx, current)
		}
		if !store.IsConflict(err) {
			return err
		}
	}
}
