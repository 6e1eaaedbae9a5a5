package controller

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Builder configures a controller of a manager. Call Manager.Build, then For and any of the other methods, and finally
// Complete, which reports all errors:
//
//	pages := controller.ObjectsOf[*v1.Page](m, v1.GroupVersionResource)
//	configMaps := controller.ObjectsOf[*corev1.ConfigMap](m, corev1.SchemeGroupVersion.WithResource("configmaps"))
//	err := m.Build("pages").For(pages).Owns(configMaps).Complete(&reconciler{pages, configMaps})
//
// It is not safe for concurrent use.
type Builder struct {
	manager *Manager
	options Options
	primary Watchable // the argument of For
	owned   []dependents
	err     error
}

// dependents holds the arguments of one call of Owns.
type dependents struct {
	objects    Watchable
	predicates []Predicate
}

// Watchable is the type of the arguments of Builder.For and Builder.Owns. Only Objects implements it.
type Watchable interface {
	// primary returns sources whose requests name the objects themselves.
	primary(predicates []Predicate) []Source
	// owned returns sources whose requests name the controller owners of the objects, of a kind.
	owned(owner schema.GroupKind, clusterScoped bool, predicates []Predicate) []Source
	// owner returns the kind that owner references to the objects have.
	owner() (kind schema.GroupKind, clusterScoped bool)
}

// Build returns a builder of a controller, which the manager runs once it is complete. The name identifies the
// controller in logs and metrics.
func (m *Manager) Build(name string) *Builder {
	return &Builder{manager: m, options: Options{Name: name}}
}

// For sets the objects that the controller reconciles. A change of one of them that passes all predicates requests its
// reconciliation. Complete fails unless For was called exactly once.
func (b *Builder) For(objects Watchable, predicates ...Predicate) *Builder {
	if b.primary != nil {
		b.err = errors.New("For was called twice: a controller reconciles the objects of one resource")
	}
	b.primary = objects
	b.options.Sources = append(b.options.Sources, objects.primary(predicates)...)
	return b
}

// Owns adds objects that the reconciled objects own. A change of one of them that passes all predicates requests the
// reconciliation of its controller owner, if that is of the kind of For's objects, in any version.
func (b *Builder) Owns(objects Watchable, predicates ...Predicate) *Builder {
	b.owned = append(b.owned, dependents{objects, predicates})
	return b
}

// Watches adds further sources of requests: results of the functions Map, Watches or WatchesLater, or a Trigger.
func (b *Builder) Watches(sources ...Source) *Builder {
	b.options.Sources = append(b.options.Sources, sources...)
	return b
}

// With sets the options of the controller, except Name, Reconciler and Sources, which the other methods set. A second
// call replaces the options of the first.
func (b *Builder) With(options Options) *Builder {
	options.Name, options.Sources = b.options.Name, b.options.Sources
	b.options = options
	return b
}

// Complete adds the controller, with its reconciler, to the manager, which runs it. It must be called before
// Manager.Run. It returns an error if For was not called exactly once, if r is nil, or if Owns was called and For's
// objects are of type *unstructured.Unstructured or *metav1.PartialObjectMetadata, which does not determine the kind of
// the owner.
func (b *Builder) Complete(r Reconciler) error {
	switch {
	case b.err != nil:
	case b.primary == nil:
		b.err = errors.New("For was not called: call it with the objects that the controller reconciles")
	case r == nil:
		b.err = errors.New("the reconciler is nil")
	}
	for _, o := range b.owned {
		if b.err != nil {
			break
		}
		kind, clusterScoped := b.primary.owner()
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
