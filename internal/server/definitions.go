package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apiextensions"
	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// definitionsResource is the resource of CustomResourceDefinitions in the store.
var definitionsResource = schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}

// definitions serves the kinds that CustomResourceDefinitions define. A definition is established, and its
// kind served, before the write that created it is answered. When a definition is deleted, its instances are
// deleted first.
type definitions struct {
	s *Server
	// builtin are the kinds that are served without a definition.
	builtin []kind.Kind
	// mu serializes the reconciliation of definitions, since their names may conflict.
	mu sync.Mutex
	// terminating are the resources whose definitions are being deleted: creates are refused.
	terminating sync.Map // schema.GroupResource: struct{}
	// cleaning are the definitions whose instances are being deleted by a goroutine.
	cleaning map[object.Key]bool
	// waiting are the definitions, by group, with a name that another definition holds.
	waiting map[string]map[object.Key]bool
	// settled are the definitions whose current state is served: nothing has to be reconciled.
	settled map[object.Key]settled
}

// settled is a state of a definition and the kind that was made of it.
type settled struct {
	object *object.Object
	kind   *structural.Kind
}

func newDefinitions(s *Server) *definitions {
	return &definitions{
		s: s, builtin: s.kinds.Kinds(),
		cleaning: map[object.Key]bool{}, waiting: map[string]map[object.Key]bool{}, settled: map[object.Key]settled{},
	}
}

// load serves the kinds of all stored definitions. It begins with the definitions that were served before, so
// that they retain their names, and continues with those that wait for names. A definition that fails is
// logged, and the others are served.
func (d *definitions) load(ctx context.Context) error {
	snapshot, err := d.s.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return err
	}
	var established, others []object.Key
	snapshot.Scan(object.Prefix(definitionsResource, ""), "", func(o *object.Object) bool {
		if d.settled[o.Key].object == o {
			return true
		}
		if crd, err := d.definitionOf(o); err == nil && apiextensions.IsEstablished(crd) &&
			apiextensions.NamesAccepted(crd) {
			established = append(established, o.Key)
		} else {
			others = append(others, o.Key)
		}
		return true
	})
	for _, key := range append(established, others...) {
		if err := d.settle(ctx, key); err != nil {
			if ctx.Err() != nil {
				return err
			}
			d.s.log.Error("a stored definition cannot be served", "definition", key.Name(), "error", err)
		}
	}
	return nil
}

// settle runs after each commit and before its answer. It reconciles a definition with its kind.
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

// settle reconciles a definition's status and the registry with its specification.
func (d *definitions) settle(ctx context.Context, key object.Key) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settleOne(ctx, key)
}

func (d *definitions) settleOne(ctx context.Context, key object.Key) error {
	for {
		current, crd, err := d.find(key)
		if current == nil || err != nil {
			return err
		}
		if crd.DeletionTimestamp != nil {
			if _, err := d.serve(crd); err != nil { // terminating instances are still served, after a restart as well
				return err
			}
			return d.terminate(ctx, current, crd)
		}
		if current.Uninitialized() { // it has no effect yet; the write that finishes initialization reconciles it
			return nil
		}
		changed := apiextensions.Establish(crd, apiextensions.TakenIn(d.s.kinds.Kinds(), crd), metav1.Now())
		if changed {
			if current, err = d.commit(ctx, current, crd); err != nil {
				if isConflict(err) {
					continue
				}
				return err
			}
		}
		d.await(key, crd)
		renamed, err := d.serve(crd)
		if err == nil && apiextensions.IsEstablished(crd) && apiextensions.NamesAccepted(crd) {
			d.settled[key] = settled{current, d.served(resourceOf(crd))}
		}
		if err != nil || !renamed {
			return err
		}
		return d.settleGroup(ctx, crd.Spec.Group)
	}
}

// await records whether a definition waits for names.
func (d *definitions) await(key object.Key, crd *apiextensionsv1.CustomResourceDefinition) {
	group := crd.Spec.Group
	if apiextensions.NamesAccepted(crd) {
		d.forgo(group, key)
		return
	}
	if d.waiting[group] == nil {
		d.waiting[group] = map[object.Key]bool{}
	}
	d.waiting[group][key] = true
}

// forgo removes a definition from those that wait.
func (d *definitions) forgo(group string, key object.Key) {
	delete(d.waiting[group], key)
	if len(d.waiting[group]) == 0 {
		delete(d.waiting, group)
	}
}

// settleGroup reconciles the definitions of a group that wait for names; the caller holds mu.
func (d *definitions) settleGroup(ctx context.Context, group string) error {
	for _, key := range slices.Sorted(maps.Keys(d.waiting[group])) {
		if err := d.settleOne(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// find returns the current state of a definition; current is nil if it does not exist.
func (d *definitions) find(
	key object.Key,
) (current *object.Object, crd *apiextensionsv1.CustomResourceDefinition, err error) {
	if current = d.s.store.Get(key); current != nil {
		crd, err = d.definitionOf(current)
	}
	return current, crd, err
}

func (d *definitions) definitionOf(o *object.Object) (*apiextensionsv1.CustomResourceDefinition, error) {
	k, _ := d.s.kinds.Stored(definitionsResource)
	obj, err := o.Decode(k)
	if err != nil {
		return nil, err
	}
	return obj.(*apiextensionsv1.CustomResourceDefinition), nil
}

// resourceOf returns the resource of a definition's instances.
func resourceOf(crd *apiextensionsv1.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
}

func isConflict(err error) bool {
	var conflict *store.ConflictError
	return errors.As(err, &conflict)
}

// commit writes a definition that the server changed.
func (d *definitions) commit(ctx context.Context, current *object.Object,
	crd *apiextensionsv1.CustomResourceDefinition) (*object.Object, error) {
	k, _ := d.s.kinds.Stored(definitionsResource)
	fresh, err := encode(k, crd, current.Form())
	if err != nil {
		return nil, err
	}
	_, err = d.s.store.Commit(ctx, store.Change{Key: current.Key, Object: fresh, Expect: store.At(current.Revision)})
	return fresh, err
}
