package controller

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Builder builds a controller of a manager:
//
//	pages := controller.ObjectsOf[*v1.Page](m, v1.GroupVersionResource)
//	configMaps := controller.ObjectsOf[*corev1.ConfigMap](m, corev1.SchemeGroupVersion.WithResource("configmaps"))
//	err := m.Build("pages").For(pages).Owns(configMaps).Complete(&reconciler{pages, configMaps})
//
// It is not safe for concurrent use.
type Builder struct {
	manager *Manager
	options Options
	of      Watchable // what For was called with
	owned   []dependents
	err     error
}

// dependents holds the arguments of one call of Owns.
type dependents struct {
	objects    Watchable
	predicates []Predicate
}

// Watchable is the type of the arguments of For and Owns; Objects implements it.
type Watchable interface {
	// primary returns sources that reconcile the objects themselves.
	primary(predicates []Predicate) []Source
	// owned returns sources that reconcile the owners of the objects, of a kind.
	owned(owner schema.GroupKind, clusterScoped bool, predicates []Predicate) []Source
	// owner returns the kind by which owner references name the objects.
	owner() (kind schema.GroupKind, clusterScoped bool)
}

// Build returns a builder of a controller, which the manager runs once it is complete. The name identifies the
// controller in logs and metrics.
func (m *Manager) Build(name string) *Builder {
	return &Builder{manager: m, options: Options{Name: name}}
}

// For reconciles objects when a change of them passes all predicates. It must be called exactly once, or Complete
// fails.
func (b *Builder) For(objects Watchable, predicates ...Predicate) *Builder {
	if b.of != nil {
		b.err = errors.New("For was called twice")
	}
	b.of = objects
	b.options.Sources = append(b.options.Sources, objects.primary(predicates)...)
	return b
}

// Owns reconciles the owner of objects, named by their controller reference, when a change of them passes all
// predicates. The owner is an object of For, in any version.
func (b *Builder) Owns(objects Watchable, predicates ...Predicate) *Builder {
	b.owned = append(b.owned, dependents{objects, predicates})
	return b
}

// Watches adds further sources of requests: those that Map or Watches return, or a Trigger.
func (b *Builder) Watches(sources ...Source) *Builder {
	b.options.Sources = append(b.options.Sources, sources...)
	return b
}

// With sets the options of the controller, except Name, Reconciler and Sources, which the other methods set.
func (b *Builder) With(options Options) *Builder {
	options.Name, options.Sources = b.options.Name, b.options.Sources
	b.options = options
	return b
}

// Complete adds the controller, with its reconciler, to the manager. It must be called before Manager.Run. It fails if
// For was not called, or if the type of its objects does not determine the kind that owner references name.
func (b *Builder) Complete(r Reconciler) error {
	switch {
	case b.err != nil:
	case b.of == nil:
		b.err = errors.New("call For to name the objects that it reconciles")
	case r == nil:
		b.err = errors.New("the reconciler is nil")
	}
	for _, o := range b.owned {
		if b.err != nil {
			break
		}
		kind, clusterScoped := b.of.owner()
		if kind.Kind == "" {
			b.err = errors.New("Owns needs a typed kind in For: use Watches with the function Owns")
			break
		}
		b.options.Sources = append(b.options.Sources, o.objects.owned(kind, clusterScoped, o.predicates)...)
	}
	if b.err != nil {
		return fmt.Errorf("controller %s: %w", b.options.Name, b.err)
	}
	b.options.Reconciler = r
	b.manager.Add(b.options)
	return nil
}
