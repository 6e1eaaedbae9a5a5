package crd

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apiextensions"
	"github.com/bowline-dev/bowline/internal/kind/caller"
	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/kind/structural/webhook"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// reconcile updates a definition's status and the registry from its specification, and reconciles the definitions that
// wait for names which this releases. The caller holds mu.
func (d *Definitions) reconcile(ctx context.Context, key object.Key) error {
	for {
		current, crd, err := d.find(key)
		if current == nil || err != nil {
			return err
		}
		if crd.DeletionTimestamp != nil {
			// The instances are served until they are gone, after a restart as well.
			if _, err := d.serve(crd); err != nil {
				return err
			}
			return d.terminate(ctx, current, crd)
		}
		if current.Uninitialized() { // it has no effect yet; the write that finishes initialization reconciles it
			return nil
		}
		if apiextensions.Establish(crd, apiextensions.TakenIn(d.kinds.Kinds(), crd), metav1.Now()) {
			if current, err = d.commit(ctx, current, crd); err != nil {
				if store.IsConflict(err) {
					continue
				}
				return err
			}
		}
		accepted := apiextensions.NamesAccepted(crd)
		if accepted {
			delete(d.waiting, key)
		} else {
			d.waiting[key] = crd.Spec.Group
		}
		released, err := d.serve(crd)
		if err != nil {
			return err
		}
		if accepted && apiextensions.IsEstablished(crd) {
			d.reconciled[key] = reconciled{current, d.served(resourceOf(crd))}
		}
		if !released {
			return nil
		}
		return d.reconcileWaiting(ctx, crd.Spec.Group)
	}
}

// reconcileWaiting reconciles the definitions of a group that wait for names; the caller holds mu.
func (d *Definitions) reconcileWaiting(ctx context.Context, group string) error {
	var keys []object.Key
	for key, in := range d.waiting {
		if in == group {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := d.reconcile(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// serve puts the kind of an established definition into the registry. It reports whether names were released: whether
// the new kind has different names. The caller holds mu.
func (d *Definitions) serve(crd *apiextensionsv1.CustomResourceDefinition) (released bool, err error) {
	if !apiextensions.IsEstablished(crd) {
		return false, nil
	}
	if err := apiextensions.CheckServable(crd); err != nil {
		return false, err
	}
	gr := resourceOf(crd)
	old := d.served(gr)
	if old != nil && old.IsCurrent(crd) {
		return false, nil
	}
	var converter structural.Converter // nil if versions differ in apiVersion only
	if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
		converter = webhook.New(d.conversions, crd, caller.ResolveServices(d.conversions, d.reader))
	}
	definitions, _ := d.kinds.Stored(stored.Definitions)
	k, err := structural.New(definitions.Cache(), crd, converter)
	if err != nil {
		return false, err
	}
	if o := d.store.Get(object.KeyOf(stored.Definitions, "", crd.Name)); o != nil {
		k.ShareMemory(o.Stored().Bytes()) // halves the memory of an unused definition
	}
	if old == nil {
		if d.builtinKind(gr) != nil { // the stored objects have the definition's schema
			d.log.Warn("a definition is served in place of the built-in kind of the same name, because it is older; "+
				"to have the built-in one, save the definition's objects and delete the definition",
				"definition", crd.Name)
		}
		d.kinds.Put(k)
		return false, nil
	}
	k.Succeed(old)
	d.kinds.Put(k)
	d.replaced(gr)
	old.End()
	was, is := old.Info(), k.Info()
	return was.Singular != is.Singular || was.Kind != is.Kind || was.ListKind() != is.ListKind() ||
		!slices.Equal(was.ShortNames, is.ShortNames), nil
}

// builtinKind returns the built-in kind of a resource, or nil.
func (d *Definitions) builtinKind(gr schema.GroupResource) kind.Kind {
	for _, k := range d.builtin {
		if k.Info().GroupResource() == gr {
			return k
		}
	}
	return nil
}

// remove stops serving the kind of a deleted definition, and reconciles the definitions that wait for its names.
// The caller holds mu.
func (d *Definitions) remove(ctx context.Context, before *object.Object) error {
	crd, err := d.decode(before)
	if err != nil {
		return err
	}
	gr := resourceOf(crd)
	delete(d.waiting, before.Key)
	delete(d.reconciled, before.Key)
	if apiextensions.IsEstablished(crd) {
		if k := d.served(gr); k != nil {
			defer k.End()
		}
		if k := d.builtinKind(gr); k != nil {
			d.kinds.Put(k)
		} else {
			d.kinds.Remove(gr)
		}
		d.removed(gr)
		d.terminating.Delete(gr)
	}
	return d.reconcileWaiting(ctx, gr.Group)
}
