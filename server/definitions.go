package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/kind/builtin/apiextensions"
	"github.com/bowline-dev/bowline/kind/structural"
	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/store"
)

// definitionsResource is where CustomResourceDefinitions are stored.
var definitionsResource = schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}

// definitions makes kinds of CustomResourceDefinitions. A definition is established, and its kind served, when the
// write that made it is answered; when it is deleted, its instances go first.
type definitions struct {
	s *Server
	// mu makes one definition settle after the other, since their names may clash.
	mu sync.Mutex
	// terminating are the resources whose definitions are being deleted: nothing new is created there.
	terminating sync.Map // schema.GroupResource: struct{}
	// cleaning are the definitions whose instances a goroutine of the server deletes.
	cleaning map[object.Key]bool
}

func newDefinitions(s *Server) *definitions {
	return &definitions{s: s, cleaning: map[object.Key]bool{}}
}

// load serves the kinds of all stored definitions.
func (d *definitions) load(ctx context.Context) error {
	snapshot, err := d.s.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return err
	}
	var keys []object.Key
	snapshot.Scan(object.Prefix(definitionsResource, ""), "", func(o *object.Object) bool {
		keys = append(keys, o.Key)
		return true
	})
	for _, key := range keys {
		if err := d.settle(ctx, key); err != nil {
			return fmt.Errorf("custom resource definition %s: %w", key.Name(), err)
		}
	}
	return nil
}

// settle runs after each commit of a kind whose objects the server itself acts on, before the write is answered.
func (s *Server) settle(ctx context.Context, k kind.Kind, before, after *object.Object) error {
	if k.Info().GroupResource() != definitionsResource {
		return nil
	}
	if after == nil {
		s.crds.mu.Lock()
		defer s.crds.mu.Unlock()
		return s.crds.removed(ctx, before)
	}
	return s.crds.settle(ctx, after.Key)
}

// settle brings status and registry in line with a definition.
func (d *definitions) settle(ctx context.Context, key object.Key) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settleOne(ctx, key)
}

func (d *definitions) settleOne(ctx context.Context, key object.Key) error {
	for {
		current := d.s.store.Get(key)
		if current == nil {
			return nil
		}
		crd, err := definitionOf(current)
		if err != nil {
			return err
		}
		if crd.DeletionTimestamp != nil {
			return d.terminate(ctx, current, crd)
		}
		changed := apiextensions.Establish(crd, apiextensions.TakenIn(d.s.kinds.Kinds(), crd), metav1.Now())
		if changed {
			if err := d.commit(ctx, current, crd); err != nil {
				if isConflict(err) {
					continue
				}
				return err
			}
		}
		return d.serve(crd)
	}
}

func definitionOf(o *object.Object) (*apiextensionsv1.CustomResourceDefinition, error) {
	obj, err := o.Decode()
	if err != nil {
		return nil, err
	}
	return obj.(*apiextensionsv1.CustomResourceDefinition), nil
}

// resourceOf is where the instances of a definition are.
func resourceOf(crd *apiextensionsv1.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
}

func isConflict(err error) bool {
	var conflict *store.ConflictError
	return errors.As(err, &conflict)
}

// commit writes a definition that the server changed.
func (d *definitions) commit(ctx context.Context, current *object.Object, crd *apiextensionsv1.CustomResourceDefinition) error {
	k, _ := d.s.kinds.Stored(definitionsResource)
	fresh, err := encode(k, crd, current.Form())
	if err != nil {
		return err
	}
	_, err = d.s.store.Commit(ctx, store.Change{Key: current.Key, Object: fresh, Expect: store.At(current.Revision)})
	return err
}

// serve puts the kind of an established definition into the registry, or takes it out.
func (d *definitions) serve(crd *apiextensionsv1.CustomResourceDefinition) error {
	if !apiextensions.IsEstablished(crd) {
		return nil
	}
	old := d.served(resourceOf(crd))
	if old != nil && old.MadeOf(crd) {
		return nil
	}
	builtin, _ := d.s.kinds.Stored(definitionsResource)
	k, err := structural.New(builtin.Cache(), crd, nil)
	if err != nil {
		return err
	}
	if old != nil {
		k.Succeed(old)
		defer old.End()
	}
	d.s.kinds.Put(k)
	return nil
}

// served is the kind that a definition made, or nil.
func (d *definitions) served(gr schema.GroupResource) *structural.Kind {
	k, _ := d.s.kinds.Stored(gr)
	made, _ := k.(*structural.Kind)
	return made
}

// removed stops serving the kind of a definition that is gone. Its names are free for others of its group, which are
// settled again; the caller holds mu.
func (d *definitions) removed(ctx context.Context, before *object.Object) error {
	crd, err := definitionOf(before)
	if err != nil {
		return err
	}
	gr := resourceOf(crd)
	if apiextensions.IsEstablished(crd) {
		if k := d.served(gr); k != nil {
			defer k.End()
		}
		d.s.kinds.Remove(gr)
		d.terminating.Delete(gr)
	}
	return d.settleGroup(ctx, gr.Group)
}

// settleGroup settles the definitions of a group that are not established.
func (d *definitions) settleGroup(ctx context.Context, group string) error {
	snapshot, err := d.s.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return err
	}
	var waiting []object.Key
	snapshot.Scan(object.Prefix(definitionsResource, ""), "", func(o *object.Object) bool {
		if crd, err := definitionOf(o); err == nil && crd.Spec.Group == group && !apiextensions.NamesAccepted(crd) {
			waiting = append(waiting, o.Key)
		}
		return true
	})
	for _, key := range waiting {
		if err := d.settleOne(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// refuses says why nothing may be created of a resource.
func (d *definitions) refuses(gr schema.GroupResource, verb string) error {
	if _, ending := d.terminating.Load(gr); !ending {
		return nil
	}
	return apierrors.NewForbidden(gr, "", fmt.Errorf("%s not allowed while custom resource definition is terminating", verb))
}

// undo takes back an instance that was committed while its definition was being deleted: it came after the others were
// looked for, and would be left when the definition has gone.
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

// terminate deletes the instances of a deleted definition, at once where nothing holds them, and else as they are let
// go, on a goroutine of the server.
func (d *definitions) terminate(ctx context.Context, current *object.Object, crd *apiextensionsv1.CustomResourceDefinition) error {
	if !slices.Contains(crd.Finalizers, apiextensions.Finalizer) || d.cleaning[current.Key] {
		return nil
	}
	if !apiextensions.IsEstablished(crd) { // its names may be another kind's, whose objects are not its instances
		return d.release(ctx, current.Key)
	}
	ctx = d.s.ctx // what is begun is not left half done when the client goes
	gr := resourceOf(crd)
	d.terminating.Store(gr, struct{}{})
	left, err := d.deleteInstances(ctx, gr)
	if err != nil {
		return err
	}
	if left == 0 {
		return d.release(ctx, current.Key)
	}
	apiextensions.InstancesDeleting(crd, metav1.Now())
	if err := d.commit(ctx, current, crd); err != nil && !isConflict(err) {
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

// clean waits until the instances are gone, then lets the definition go.
func (d *definitions) clean(key object.Key, gr schema.GroupResource) {
	err := d.awaitNone(gr)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.cleaning, key)
	if err == nil {
		err = d.release(d.s.ctx, key)
	}
	if err != nil && d.s.ctx.Err() == nil {
		d.s.log.Error("the instances of a deleted definition could not be deleted; delete the definition again to retry", "definition", key.Name(), "error", err)
	}
}

// awaitNone watches a resource until it has no objects.
func (d *definitions) awaitNone(gr schema.GroupResource) error {
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
		select {
		case <-changed:
		case <-d.s.ctx.Done():
			return d.s.ctx.Err()
		}
	}
}

// deleteInstances deletes what nothing holds, marks the rest deleted, and counts it.
func (d *definitions) deleteInstances(ctx context.Context, gr schema.GroupResource) (left int, err error) {
	k, served := d.s.kinds.Stored(gr)
	if !served {
		return 0, nil
	}
	snapshot, err := d.s.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return 0, err
	}
	snapshot.Scan(object.Prefix(gr, ""), "", func(o *object.Object) bool {
		var held bool
		held, err = d.deleteInstance(ctx, k, o)
		if held {
			left++
		}
		return err == nil
	})
	return left, err
}

// deleteInstance deletes one object; held says that it is still there. A conflict means that somebody wrote it in
// between, and a later round sees to it.
func (d *definitions) deleteInstance(ctx context.Context, k kind.Kind, current *object.Object) (held bool, err error) {
	obj, err := decoded(current)
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

// release takes the finalizer from a definition whose instances are gone, which removes it.
func (d *definitions) release(ctx context.Context, key object.Key) error {
	for {
		current := d.s.store.Get(key)
		if current == nil {
			return nil
		}
		crd, err := definitionOf(current)
		if err != nil {
			return err
		}
		if crd.DeletionTimestamp == nil {
			return nil
		}
		apiextensions.InstancesDeleted(crd, metav1.Now())
		if len(crd.Finalizers) > 0 {
			err = d.commit(ctx, current, crd)
		} else if _, err = d.s.store.Commit(ctx, store.Change{Key: key, Expect: store.At(current.Revision)}); err == nil {
			return d.removed(ctx, current)
		}
		if !isConflict(err) {
			return err
		}
	}
}
