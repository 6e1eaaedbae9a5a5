package server

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apiextensions"
	"github.com/bowline-dev/bowline/internal/kind/caller"
	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/kind/structural/webhook"
	"github.com/bowline-dev/bowline/internal/object"
)

// serve puts the kind of an established definition into the registry. renamed reports whether it released
// names.
func (d *definitions) serve(crd *apiextensionsv1.CustomResourceDefinition) (renamed bool, err error) {
	if !apiextensions.IsEstablished(crd) {
		return false, nil
	}
	old := d.served(resourceOf(crd))
	if old != nil && old.IsCurrent(crd) {
		return false, nil
	}
	builtin, _ := d.s.kinds.Stored(definitionsResource)
	k, err := structural.New(builtin.Cache(), crd, d.converter(crd))
	if err != nil {
		return false, err
	}
	if o := d.s.store.Get(object.KeyOf(definitionsResource, "", crd.Name)); o != nil {
		k.ShareMemory(o.Stored().Bytes()) // halves the memory of an unused definition
	}
	if old == nil {
		if d.builtinAt(resourceOf(crd)) != nil { // the stored objects have the definition's schema
			d.s.log.Warn("a definition from before its kind was built in is served instead of it; to have the built-in one, "+
				"save the definition's objects and delete the definition", "definition", crd.Name)
		}
		d.s.kinds.Put(k)
		return false, nil
	}
	k.Succeed(old)
	d.s.kinds.Put(k)
	d.s.owners.forget(resourceOf(crd))
	old.End()
	return !sameNames(old.Info(), k.Info()), nil
}

func sameNames(a, b *kind.Info) bool {
	return a.Singular == b.Singular && a.Kind == b.Kind && a.ListKind() == b.ListKind() &&
		slices.Equal(a.ShortNames, b.ShortNames)
}

// converter returns the client of the conversion webhook; nil for a definition whose versions differ in
// apiVersion only.
func (d *definitions) converter(crd *apiextensionsv1.CustomResourceDefinition) structural.Converter {
	if c := crd.Spec.Conversion; c == nil || c.Strategy != apiextensionsv1.WebhookConverter {
		return nil
	}
	return webhook.New(d.s.ctx, crd, caller.ResolveServices(d.s.ctx, reader{d.s}))
}

// served returns the kind that a definition made, or nil.
func (d *definitions) served(gr schema.GroupResource) *structural.Kind {
	k, _ := d.s.kinds.Stored(gr)
	made, _ := k.(*structural.Kind)
	return made
}

// builtinAt returns the built-in kind of a resource, or nil.
func (d *definitions) builtinAt(gr schema.GroupResource) kind.Kind {
	for _, k := range d.builtin {
		if k.Info().GroupResource() == gr {
			return k
		}
	}
	return nil
}

// removed stops serving the kind of a deleted definition. It reconciles the definitions that wait for its
// names; the caller holds mu.
func (d *definitions) removed(ctx context.Context, before *object.Object) error {
	crd, err := d.definitionOf(before)
	if err != nil {
		return err
	}
	gr := resourceOf(crd)
	d.forgo(gr.Group, before.Key)
	delete(d.settled, before.Key)
	if apiextensions.IsEstablished(crd) {
		if k := d.served(gr); k != nil {
			defer k.End()
		}
		if k := d.builtinAt(gr); k != nil {
			d.s.kinds.Put(k)
		} else {
			d.s.kinds.Remove(gr)
		}
		d.s.owners.forget(gr)
		d.s.metrics.forget(gr)
		d.terminating.Delete(gr)
	}
	return d.settleGroup(ctx, gr.Group)
}
