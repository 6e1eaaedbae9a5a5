// Package crd serves the kinds that CustomResourceDefinitions define. After each commit of a definition, package write
// calls AfterCommit, which updates the definition's status and puts its kind into the registry, before the write is
// answered. When a definition is deleted, its objects (the instances) are deleted first.
package crd

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apiextensions"
	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/store"
)

// Options configure Definitions. All fields are required.
type Options struct {
	Store *store.Store
	// Kinds has the built-in kinds when New is called. Definitions adds its kinds, and replaces and removes them.
	Kinds *kind.Registry
	Tasks *tasks.Group
	// Conversions ends the calls of conversion webhooks.
	Conversions context.Context
	// Reader finds the Services of conversion webhooks.
	Reader *stored.Reader
	Log    *slog.Logger
	// Replaced is called when the kind of a resource was replaced after a change of its definition, and Removed when
	// the definition was deleted. Callers remove what they cached for the resource. Both must return quickly, and
	// must not call Definitions.
	Replaced, Removed func(schema.GroupResource)
	// Reconciled is called after a definition of a group was reconciled, before the write is answered.
	Reconciled func(ctx context.Context, group string)
}

// Definitions serves the kinds of one server's definitions. Its methods may be called concurrently, except that Load
// and TakeOver are called before any other.
type Definitions struct {
	store             *store.Store
	kinds             *kind.Registry
	tasks             *tasks.Group
	conversions       context.Context
	reader            *stored.Reader
	log               *slog.Logger
	replaced, removed func(schema.GroupResource)
	afterwards        func(ctx context.Context, group string)
	// builtin are the kinds that are served without a definition.
	builtin []kind.Kind
	// terminating are the resources whose definitions are being deleted: creates are rejected.
	terminating sync.Map // schema.GroupResource: struct{}

	// mu serializes the reconciliation of definitions, since their names may conflict.
	mu sync.Mutex
	// deleting are the definitions whose instances are being deleted by a goroutine.
	deleting map[object.Key]bool
	// waiting are the definitions that requested a name which another kind has, with their groups.
	waiting map[object.Key]string
	// reconciled are the definitions whose current state is served.
	reconciled map[object.Key]reconciled
}

// reconciled is a state of a definition and the kind that was made of it.
type reconciled struct {
	object *object.Object
	kind   *structural.Kind
}

// New returns Definitions that serve no definition yet: see Load and TakeOver.
func New(o Options) *Definitions {
	return &Definitions{
		store: o.Store, kinds: o.Kinds, tasks: o.Tasks, conversions: o.Conversions, reader: o.Reader, log: o.Log,
		replaced: o.Replaced, removed: o.Removed, afterwards: o.Reconciled, builtin: o.Kinds.Kinds(),
		deleting: map[object.Key]bool{}, waiting: map[object.Key]string{}, reconciled: map[object.Key]reconciled{},
	}
}

// TakeOver reuses the kinds that another server made of definitions, if this server's store has the same objects.
// Load then skips them. TakeOver decodes no definition: there may be a thousand, and decoding one takes as long as
// serving many requests.
func (d *Definitions) TakeOver(from *Definitions) {
	from.mu.Lock()
	defer from.mu.Unlock()
	builtin, _ := d.kinds.Stored(stored.Definitions)
	var kinds []kind.Kind
	for _, k := range from.kinds.Kinds() {
		made, ok := k.(*structural.Kind)
		if !ok {
			continue
		}
		key := object.KeyOf(stored.Definitions, "", made.Info().GroupResource().String())
		state := from.reconciled[key]
		if state.kind != made || d.store.Get(key) != state.object {
			continue
		}
		if shared := made.Share(builtin.Cache()); shared != nil {
			kinds = append(kinds, shared)
			d.reconciled[key] = reconciled{state.object, shared}
		}
	}
	d.kinds.Put(kinds...)
}

// Load serves the kinds of all stored definitions: first the definitions with accepted names, which thereby retain the
// names, then the others. If a definition cannot be served, Load logs it and continues.
func (d *Definitions) Load(ctx context.Context) error {
	snapshot, err := d.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return err
	}
	var established, others []object.Key
	snapshot.Scan(object.Prefix(stored.Definitions, ""), "", func(o *object.Object) bool {
		if d.reconciled[o.Key].object == o {
			return true
		}
		if crd, err := d.decode(o); err == nil && apiextensions.IsEstablished(crd) && apiextensions.NamesAccepted(crd) {
			established = append(established, o.Key)
		} else {
			others = append(others, o.Key)
		}
		return true
	})
	for _, key := range append(established, others...) {
		if err := d.load(ctx, key); err != nil {
			if ctx.Err() != nil {
				return err
			}
			d.log.Error("a stored definition cannot be served", "definition", key.Name(), "error", err)
		}
	}
	return nil
}

// load reconciles a stored definition. A definition that no server wrote, such as one of a tampered backup, may panic
// where validation would have rejected it; the server starts without it.
func (d *Definitions) load(ctx context.Context, key object.Key) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("it is not a valid definition: %v", reason)
		}
	}()
	return d.reconcile(ctx, key)
}

// AfterCommit is called after the commit of a definition and before its answer. It reconciles the definition with its
// kind. after is nil if the definition was deleted.
func (d *Definitions) AfterCommit(ctx context.Context, before, after *object.Object) error {
	key := before
	if after != nil {
		key = after
	}
	_, group, _ := strings.Cut(key.Key.Name(), ".")
	defer d.afterwards(ctx, group)
	d.mu.Lock()
	defer d.mu.Unlock()
	if after == nil {
		return d.remove(ctx, before)
	}
	return d.reconcile(ctx, after.Key)
}

// CheckCreate returns the 403 of a create while the resource's definition is being deleted.
func (d *Definitions) CheckCreate(gr schema.GroupResource, verb string) error {
	if _, ok := d.terminating.Load(gr); !ok {
		return nil
	}
	return apierrors.NewForbidden(gr, "",
		fmt.Errorf("%s not allowed while custom resource definition is terminating", verb))
}

// RollBackCreate deletes a created object and returns the error of its create, if the resource's definition has been or
// is being deleted. The deletion of the instances may have missed the object, which would remain without a definition.
func (d *Definitions) RollBackCreate(ctx context.Context, gr schema.GroupResource, verb string,
	committed *object.Object) error {
	err := d.CheckCreate(gr, verb)
	if _, served := d.kinds.Stored(gr); !served {
		err = status.NoResource()
	}
	if err == nil {
		return nil
	}
	_, failed := d.store.Commit(ctx, store.Change{Key: committed.Key, Expect: store.At(committed.Revision)})
	if failed != nil && !store.IsConflict(failed) {
		return failed
	}
	return err
}

// Undefined returns an error if a resource is not served because its definition cannot be read. Its objects exist, so
// a 404 would mislead clients.
func (d *Definitions) Undefined(gr schema.GroupResource) error {
	return d.store.Damage(object.KeyOf(stored.Definitions, "", gr.String()))
}

// Defined reports whether the kind of a resource is served because of a definition.
func (d *Definitions) Defined(gr schema.GroupResource) bool { return d.served(gr) != nil }

// Builtin returns the kinds that are served without a definition. The caller must not modify the slice.
func (d *Definitions) Builtin() []kind.Kind { return d.builtin }

// ResourceOf returns the resource of the instances of a stored definition.
func (d *Definitions) ResourceOf(o *object.Object) (schema.GroupResource, error) {
	crd, err := d.decode(o)
	if err != nil {
		return schema.GroupResource{}, err
	}
	return resourceOf(crd), nil
}

func resourceOf(crd *apiextensionsv1.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
}

// served returns the kind that a definition made, or nil.
func (d *Definitions) served(gr schema.GroupResource) *structural.Kind {
	k, _ := d.kinds.Stored(gr)
	made, _ := k.(*structural.Kind)
	return made
}

// find returns the current state of a definition; current is nil if it does not exist.
func (d *Definitions) find(
	key object.Key,
) (current *object.Object, crd *apiextensionsv1.CustomResourceDefinition, err error) {
	if current = d.store.Get(key); current != nil {
		crd, err = d.decode(current)
	}
	return current, crd, err
}

func (d *Definitions) decode(o *object.Object) (*apiextensionsv1.CustomResourceDefinition, error) {
	k, _ := d.kinds.Stored(stored.Definitions)
	obj, err := stored.Decode(k, o)
	if err != nil {
		return nil, err
	}
	return obj.(*apiextensionsv1.CustomResourceDefinition), nil
}

// commit writes a definition that the server changed.
func (d *Definitions) commit(ctx context.Context, current *object.Object,
	crd *apiextensionsv1.CustomResourceDefinition) (*object.Object, error) {
	k, _ := d.kinds.Stored(stored.Definitions)
	fresh, err := stored.Encode(k, crd, current.Form())
	if err != nil {
		return nil, err
	}
	_, err = d.store.Commit(ctx, store.Change{Key: current.Key, Object: fresh, Expect: store.At(current.Revision),
		Quota: store.Exempt})
	return fresh, err
}
